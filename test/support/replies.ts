import type { Fault, FaultKind, Reply, Usage } from '../../machines/index.ts';
import type { RehearsedReply } from '../../src/testing/index.ts';
import { type Run, report, runOverWire } from './session.ts';
import { deaf, failing, search } from './tools.ts';

/** One reply with `calls`, then a report. */
export const oneReply = (
  calls: NonNullable<RehearsedReply['calls']>,
  definition: Parameters<typeof runOverWire>[0]['definition'] = {},
) =>
  runOverWire({
    wire: 'anthropic',
    script: [{ calls }, report()],
    definition: { tools: { search, failing, deaf }, limits: { toolTimeoutMs: 40 }, ...definition },
  });

export const callsOf = ({ result }: Run) => result.turns[0]?.attempts[0]?.calls ?? [];

export const slugsOf = (run: Run) => callsOf(run).map((call) => call.slug);

export const fault = (kind: FaultKind, over: Partial<Fault> = {}): Fault => ({
  kind,
  message: 'no',
  status: 500,
  retryAfterMs: null,
  ...over,
});

export const usage: Usage = { input: 10, output: 5, reasoning: 1, cacheRead: 2, cacheWrite: 3 };

/** A complete reply of one text. */
export const replySaying = (text: string): Reply => ({
  provider: 'p',
  content: [{ type: 'text', text, ended: true }],
  finishReason: { unified: 'stop', raw: null },
  openInputs: [],
  errors: [],
  warnings: [],
  responseId: null,
  modelId: null,
});
