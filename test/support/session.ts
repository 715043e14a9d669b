import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import pino from 'pino';
import { expect } from 'vitest';
import { type Counters, type Delivery, emptyCounters } from '../../machines/index.ts';
import { secretsOf } from '../../src/agent/secrets.ts';
import {
  type Agent,
  type AgentDefinition,
  type CallRecord,
  defineAgent,
  type Message,
  type Session,
  type SessionEvent,
  type SessionOptions,
  type SessionResult,
  startSession,
} from '../../src/index.ts';
import { eventWithoutSecrets } from '../../src/secrets/redact.ts';
import { sessionInput } from '../../src/session/input.ts';
import {
  type ManualClock,
  manualClock,
  type RecordedRequest,
  type ServerScript,
  startModelServer,
} from '../../src/testing/index.ts';
import { countersFrom } from '../../src/testing/verify/recount.ts';
import { withRealAlarms } from './clock.ts';
import { unlisted, unlistedIn } from './listed-lines.ts';
import { factsOf, replay } from './replay.ts';

export type LogLine = Record<string, unknown> & { level: number; slugs?: string[]; event?: string };

/** Returns a pino logger that records its lines. */
export function keptLog() {
  const lines: LogLine[] = [];
  const write = (text: string) => {
    const line = JSON.parse(text);
    lines.push(line);
    unlisted.push(...unlistedIn(line));
  };
  return { lines, logger: pino({ level: 'debug' }, { write }) };
}

export type WireSession = {
  script: ServerScript;
  wire?: 'openai' | 'anthropic';
  definition?: Partial<AgentDefinition>;
  options?: Partial<SessionOptions>;
  clock?: ManualClock;
  /** Whether timeouts are real, or wait for `clock.advance`; default real, since the wire needs real time. */
  alarms?: 'real' | 'manual';
  /** Called with each event; may intervene in the session. */
  during?: (event: SessionEvent, session: Session) => void;
};

export type Run = {
  result: SessionResult;
  requests: RecordedRequest[];
  events: SessionEvent[];
  warnings: LogLine[];
  errors: LogLine[];
  lines: LogLine[];
  clock: ManualClock;
  agent: Agent;
};

/** Runs a session through the public API over real HTTP, and checks the invariants of every session. */
export async function runOverWire({
  script,
  wire = 'openai',
  definition = {},
  options = {},
  clock = manualClock(),
  alarms,
  during,
}: WireSession): Promise<Run> {
  await using server = await startModelServer(script);
  const agent = defineAgent({ name: 'tested', models: [wireModel(wire, server.url)], ...definition });
  return await run({ agent, options, clock, alarms, during, requests: server.requests });
}

export function wireModel(wire: 'openai' | 'anthropic', url: string, model = 'scripted', apiKey = 'test-key') {
  if (wire === 'anthropic') return createAnthropic({ baseURL: url, apiKey })(model);
  return createOpenAICompatible({ name: 'scripted', baseURL: url, apiKey, includeUsage: true })(model);
}

export async function run(parts: {
  agent: Agent;
  options?: Partial<SessionOptions>;
  clock?: ManualClock;
  alarms?: 'real' | 'manual' | undefined;
  during?: ((event: SessionEvent, session: Session) => void) | undefined;
  requests?: RecordedRequest[];
}): Promise<Run> {
  const { agent, options = {}, clock = manualClock(), alarms = 'real', during, requests = [] } = parts;
  const { lines, logger } = keptLog();
  const events: SessionEvent[] = [];
  const started: { session: Session | null } = { session: null };
  const deliveries: Delivery[] = [];
  const startedAt = clock.now();
  const session = startSession(agent, {
    ...(options.messages === undefined && { prompt: 'Do the task.' }),
    logger,
    clock: alarms === 'real' ? withRealAlarms(clock) : clock,
    random: () => 0.5,
    sessionId: 'session-under-test',
    ...options,
    onDelivery: (delivery) => {
      deliveries.push(JSON.parse(JSON.stringify(delivery)));
      return options.onDelivery?.(delivery);
    },
    onEvent: (event) => {
      events.push(event);
      if (started.session !== null) during?.(event, started.session);
    },
  });
  started.session = session;
  const result = await session.result;
  const finished = {
    result,
    requests,
    events,
    lines,
    warnings: lines.filter((line) => line.level === 40),
    errors: lines.filter((line) => line.level === 50),
    clock,
    agent,
  };
  expectInvariants(finished);
  // D-3: the deliveries alone reproduce the same facts.
  const replayed = replay(sessionInput(agent, options.budget ?? {}, startedAt), deliveries);
  const facts: typeof replayed.facts = JSON.parse(JSON.stringify(replayed.facts));
  const clean = facts.map((fact) => eventWithoutSecrets(fact, secretsOf(agent.definition)));
  expect(factsOf(events)).toEqual(clean);
  return finished;
}

/** Checks the invariants of every session, whatever its outcome. */
export function expectInvariants({ result, requests, events, lines, warnings, errors, agent }: Run): void {
  const { counters } = result;
  expect(counters).toEqual(countersFrom(result, events));
  const { maxTurns, maxRetries } = agent.limits;
  expect(counters.requests).toBe(counters.attempts + counters.summaries);
  expect(counters.requests).toBeLessThanOrEqual(maxTurns * maxRetries);
  expect(requests.length).toBeLessThanOrEqual(counters.requests);
  expect(counters.toolCalls.answered).toBe(counters.toolCalls.requested);
  const { executed, acknowledged, rejected, succeeded, failed } = counters.toolCalls;
  const refused = Object.values(rejected).reduce((sum, count) => sum + count, 0);
  expect(executed + acknowledged + refused).toBe(counters.toolCalls.answered);
  expect(succeeded + failed).toBe(executed);
  const own = (line: LogLine) => line.sessionId === result.sessionId;
  expect(warnings.filter(own).length).toBe(counters.failedAttempts);
  expect(errors.filter(own).length).toBe(result.status === 'failed' ? 1 : 0);
  const aborts = lines.filter((line) => line.level === 30 && line.event === 'session.aborted');
  expect(aborts.filter(own).length).toBe(result.status === 'aborted' ? 1 : 0);
  expect(result.report.accepted).toBe(result.success);
  expect(result.report.content).toBeTruthy();
  expect(result.status === 'succeeded').toBe(result.success);
  expectWellFormed(result.conversation);
  for (const request of requests) expectWellFormedWire(request);
  const ends = events.filter((event) => event.type.match(/^session\.(succeeded|failed|aborted)$/));
  expect(ends.filter((event) => event.path.length === 0)).toHaveLength(1);
}

/** Checks that each call gets one answer, right after it and in order, and that no message is empty (C-1, C-6). */
export function expectWellFormed(messages: readonly Message[]): void {
  const ids = new Set<string>();
  for (const [index, message] of messages.entries()) {
    expect(message.content.length).toBeGreaterThan(0);
    const before = messages[index - 1];
    if (message.role === 'tool') expect(before?.role).toBe('assistant');
    if (message.role !== 'assistant') continue;
    const calls = message.content.flatMap((part) =>
      part.type === 'tool-call' && part.providerExecuted !== true ? [part.toolCallId] : [],
    );
    for (const id of calls) {
      expect(ids.has(id)).toBe(false);
      ids.add(id);
    }
    const next = messages[index + 1];
    const answers = next?.role === 'tool' ? next.content.map((part) => part.toolCallId) : [];
    expect(answers).toEqual(calls);
  }
}

/** Checks the same for a request on the wire, and that assistant messages are never adjacent (C-6). */
function expectWellFormedWire({ wire, body }: RecordedRequest): void {
  const { messages } = body;
  for (const [index, message] of messages.entries()) {
    const next = messages[index + 1];
    if (message.role === 'assistant') expect(next?.role).not.toBe('assistant');
    if (wire === 'anthropic') {
      expect(next?.role).not.toBe(message.role);
      expect(anthropicIds(next?.content, 'tool_result')).toEqual(anthropicIds(message.content, 'tool_use'));
    } else if (Array.isArray(message.tool_calls)) {
      const calls = message.tool_calls.map((call: { id: string }) => call.id);
      const answers = messages.slice(index + 1, index + 1 + calls.length).map((answer) => answer.tool_call_id);
      expect(answers).toEqual(calls);
    }
  }
}

function anthropicIds(content: unknown, type: 'tool_use' | 'tool_result'): unknown[] {
  if (!Array.isArray(content)) return [];
  const blocks = content.filter((block: { type: string }) => block.type === type);
  return blocks.map((block: { id?: string; tool_use_id?: string }) => block.id ?? block.tool_use_id);
}

type DeepPartial<T> = T extends object ? { [K in keyof T]?: DeepPartial<T[K]> } : T;

/**
 * Builds a full set of counters, zero except for `named`; `requests` defaults to `attempts` (S-4). Those by tool are
 * anything: `expectInvariants` counts them again.
 */
export function counters(named: DeepPartial<Counters>): Counters {
  const zero = emptyCounters();
  const merged = {
    ...zero,
    requests: (named.attempts ?? 0) + (named.summaries ?? 0),
    tools: expect.any(Object),
    ...named,
    toolCalls: { ...zero.toolCalls, ...named.toolCalls },
    reports: { ...zero.reports, ...named.reports },
    tokens: { ...zero.tokens, ...named.tokens },
  };
  const { requests, toolCalls, tokens, costUsd } = merged;
  const tree = { sessions: 1, requests, toolCalls: toolCalls.requested, tokens, costUsd };
  return { ...merged, tree: { ...tree, ...named.tree } } as Counters;
}

/** What a session counts whose first reply is its report. */
export const reportedAtOnce = {
  turns: 1,
  attempts: 1,
  toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
  reports: { attempted: 1 },
  costUsd: null,
};

/** Returns the tokens of `replies` replies from the scripted server, at 10 in and 5 out each. */
export function tokensOf(replies: number): Counters['tokens'] {
  return { ...emptyCounters().tokens, input: 10 * replies, output: 5 * replies };
}

/** Returns the calls of all attempts, in order. */
export function callsIn({ turns }: SessionResult): CallRecord[] {
  return turns.flatMap((turn) => turn.attempts.flatMap((attempt) => attempt.calls));
}

/** Returns the text of a request's last message. */
export function lastText({ body }: RecordedRequest): string {
  const content = body.messages.at(-1)?.content;
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? '').join('') : '';
}

export const report = (content: unknown = 'All done.') => ({ calls: [{ name: 'final_report', input: { content } }] });
