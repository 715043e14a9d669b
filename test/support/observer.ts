import type { Fact, Slug } from '../../machines/index.ts';
import type { SessionEvent, Sighting } from '../../src/observe/events.ts';
import type { Logger } from '../../src/observe/log/logger.ts';
import { Observer, type ObserverOptions } from '../../src/observe/observer.ts';

const target = 'one';
export const started = (attempt = 1): Fact => ({
  type: 'attempt.started',
  turn: 1,
  attempt,
  target,
  notice: null,
  offer: 'all',
});
export const failed = (...slugs: Slug[]): Fact => ({
  type: 'attempt.failed',
  turn: 1,
  attempt: 1,
  target,
  slugs,
  detail: null,
});
export const aborted: Fact = {
  type: 'session.aborted',
  turns: 1,
  failure: { slugs: ['aborted'], retryAt: null, detail: null },
};
export const delta = (text: string, part = 0): Sighting => ({
  type: 'model.delta',
  turn: 1,
  attempt: 1,
  part,
  kind: 'text',
  callId: null,
  toolName: null,
  delta: text,
});
export const warned = (warning: string, of = target): Sighting => ({ type: 'model.warned', target: of, warning });
export const late: Sighting = { type: 'effect.late', key: 'k' };
export const lost = (message: string): Sighting => ({ type: 'server.lost', server: 'files', message });
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** An observer whose listener, telemetry, parent and recorder keep what reaches them. The clock says 2,000. */
export function watched(more: Partial<ObserverOptions> = {}) {
  const heard: SessionEvent[] = [];
  const spanned: SessionEvent[] = [];
  const recorded: unknown[] = [];
  const observer = new Observer({
    sessionId: 's',
    agent: 'a',
    metadata: {},
    parentSessionId: null,
    secrets: [],
    messages: [],
    logger: silent,
    onEvent: (event) => void heard.push(event),
    telemetry: { event: (event) => void spanned.push(event) },
    context: undefined,
    slices: {},
    tools: new Map(),
    resultBytes: 1_000,
    recorder: {
      fact: (fact) => void recorded.push(fact.type),
      sighted: (sighting, at) => void recorded.push([sighting, at]),
    },
    times: { deliveredAt: 1_000, now: () => 2_000 },
    ...more,
  });
  return { observer, heard, spanned, recorded };
}
export const envelope = { sessionId: 's', agent: 'a', path: [] };
