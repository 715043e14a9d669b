import type { Fact, Reply, ReplyPart, Usage } from '../../../machines/index.ts';
import { PawlError } from '../../input/errors.ts';
import type { JournalEntry, SessionHead } from '../../journal/journal.ts';
import { restoredFacts } from '../../journal/replay/stored-facts.ts';
import { type SdkStreamPart, sdkUsage } from '../../model/sdk-model.ts';
import { replayEntries } from '../../session/replay/replay-session.ts';
import type { RecordedExchange } from './exchange.ts';
import { outlineOfSent } from './outline.ts';
import { thrownFor } from './thrown.ts';

/** What an agent of a recorded tree was asked and answered, and what its tools did. */
export type AgentRecording = {
  provider: string;
  modelId: string;
  exchanges: RecordedExchange[];
  /** The answers of executed calls, by tool and input, in order. */
  answers: Map<string, { success: boolean; value: unknown; message: string }[]>;
  /** The tools that were offered, by name, with their descriptions and schemas. */
  offered: Map<string, { description: string; inputSchema: object }>;
};

type Replied = Extract<Fact, { type: 'attempt.replied' }>;

/** Returns the recordings in a session's entries, by the name of each agent of its tree; and the root's head. */
export function recordingsIn(entries: readonly JournalEntry[]): {
  head: SessionHead;
  agents: Map<string, AgentRecording>;
} {
  const heads = new Map(
    entries.flatMap((entry) => (entry.type === 'started' ? [[entry.scope, entry.head] as const] : [])),
  );
  const head = heads.get('');
  if (head === undefined) throw new PawlError('invalid_journal', 'The journal holds no session.');
  const { requests } = replayEntries(entries, {});
  const agents = new Map<string, AgentRecording>();
  for (const { agent, input } of heads.values()) {
    if (agents.has(agent)) continue;
    const [, provider = '', modelId = ''] = /^([^:]+):(.*)$/.exec(input.targets[0] ?? '') ?? [];
    agents.set(agent, { provider, modelId, exchanges: [], answers: new Map(), offered: new Map() });
  }
  const calls = new Map<string, string>();
  for (const { scope, fact } of factsIn(entries)) {
    const own = heads.get(scope);
    const recording = own === undefined ? undefined : agents.get(own.agent);
    if (own === undefined || recording === undefined) continue;
    if (fact.type === 'attempt.replied') {
      const sent = requests.find(
        ({ sessionId, turn, attempt }) => sessionId === own.sessionId && turn === fact.turn && attempt === fact.attempt,
      );
      for (const tool of sent?.tools ?? [])
        if (tool.type === 'function')
          recording.offered.set(tool.name, { description: tool.description ?? '', inputSchema: tool.inputSchema });
      if (sent !== undefined) recording.provider = sent.provider;
      recording.exchanges.push({ request: sent === undefined ? [] : outlineOfSent(sent), ...answerOf(fact) });
      for (const part of fact.reply?.content ?? [])
        if (part.type === 'tool-call') calls.set(`${scope} ${part.callId}`, inputKey(part.name, parsed(part.input)));
    }
    if (fact.type !== 'tool.answered' || !fact.executed) continue;
    const key = calls.get(`${scope} ${fact.callId}`) ?? fact.name;
    recording.answers.set(key, [...(recording.answers.get(key) ?? []), fact.result]);
  }
  return { head, agents };
}

/** How a call of a tool is found again. */
export function inputKey(name: string, input: unknown): string {
  return `${name} ${JSON.stringify(input)}`;
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

function* factsIn(entries: readonly JournalEntry[]): Generator<{ scope: string; fact: Fact }> {
  const deliveries = new Map<string, Parameters<typeof restoredFacts>[1][]>();
  for (const entry of entries) {
    const { scope } = entry;
    const waiting = deliveries.get(scope) ?? [];
    deliveries.set(scope, waiting);
    if (entry.type === 'started') waiting.push(null);
    if (entry.type === 'delivered') waiting.push(entry.delivery);
    if (entry.type !== 'stepped') continue;
    for (const fact of restoredFacts(entry.facts, waiting.shift() ?? null)) yield { scope, fact };
  }
}

/** What a recorded attempt got, as a model gives it. */
function answerOf({ reply, fault, usage }: Replied): Pick<RecordedExchange, 'parts' | 'thrown'> {
  if (reply === null) return { parts: [], thrown: fault === null ? null : thrownFor(fault) };
  const parts = [
    { type: 'stream-start', warnings: [] } as SdkStreamPart,
    ...reply.content.flatMap(partsOf),
    ...openParts(reply),
  ];
  const isBroken = fault !== null || reply.finishReason === null;
  const end = isBroken ? [] : [finishPart(reply, usage)];
  return { parts: [...parts, ...end], thrown: fault === null ? null : thrownFor(fault) };
}

function finishPart({ finishReason }: Reply, usage: Usage): SdkStreamPart {
  const { unified, raw } = finishReason ?? { unified: 'other', raw: null };
  return {
    type: 'finish',
    finishReason: { unified, raw: raw ?? undefined },
    usage: sdkUsage(usage),
  } as SdkStreamPart;
}

function openParts({ openInputs }: Reply): SdkStreamPart[] {
  return openInputs.flatMap(({ callId, name, input }): SdkStreamPart[] => [
    { type: 'tool-input-start', id: callId, toolName: name },
    { type: 'tool-input-delta', id: callId, delta: input },
  ]);
}

function partsOf(part: ReplyPart, index: number): SdkStreamPart[] {
  const id = String(index);
  const data =
    'providerOptions' in part && part.providerOptions !== undefined ? { providerMetadata: part.providerOptions } : {};
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [
        { type: `${part.type}-start`, id, ...data },
        { type: `${part.type}-delta`, id, delta: part.text },
        ...(part.ended ? [{ type: `${part.type}-end` as const, id }] : []),
      ] as SdkStreamPart[];
    case 'tool-call': {
      const { callId, providerId = callId, name: toolName, input, providerExecuted } = part;
      const call = { type: 'tool-call', toolCallId: providerId, toolName, input, providerExecuted, ...data };
      return [call as SdkStreamPart];
    }
    case 'tool-result': {
      const { callId: toolCallId, name: toolName, result, isError } = part;
      return [{ type: 'tool-result', toolCallId, toolName, result, isError, ...data } as SdkStreamPart];
    }
    case 'source':
      return [part.source as unknown as SdkStreamPart];
    default:
      return [part as unknown as SdkStreamPart];
  }
}
