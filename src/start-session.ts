import { randomUUID } from 'node:crypto';
import { type ActorRefFrom, createActor } from 'xstate';
import { z } from 'zod';
import {
  type ApprovalOutcome,
  type Budget,
  type Counters,
  type Delivery,
  type Fact,
  type Failure,
  type HostEvent,
  type Message,
  repairConversation,
  type SessionInput,
  type SessionOutput,
  type Slug,
  sessionMachine,
  userMessage,
} from '../machines/index.ts';
import { estimateMessageTokens } from './context/tokens.ts';
import { type Agent, check, targetNames } from './define-agent.ts';
import { messageOf, PawlError, shown } from './errors.ts';
import { type Clock, systemClock } from './host/clock.ts';
import { Host } from './host/host.ts';
import { type Effects, MemoryDriver } from './host/memory.ts';
import { type InputMessage, parseMessages } from './model/messages.ts';
import { PromptBuilder } from './model/prompt.ts';
import { requestModel } from './model/request-model.ts';
import { Target } from './model/targets.ts';
import type { EventListener, SessionEvent } from './observe/events.ts';
import { defaultLogger, type Logger } from './observe/log.ts';
import { Observer } from './observe/observer.ts';
import type { TurnRecord } from './observe/records.ts';
import { redact, secretsIn } from './observe/redact.ts';
import { ReportValidator } from './report/format.ts';
import { syntheticReport } from './report/synthetic.ts';
import { Catalog } from './tools/catalog.ts';
import { runTool, Slots } from './tools/run-tool.ts';

/** What a session may spend beside its bound. Once spent, one more request is made for the report if there may be one. */
export type SessionBudget = {
  /** All requests, the one for the report included. */
  requests?: number;
  /** Input and output together. */
  tokens?: number;
  /** Needs `pricing` for every model of the agent. */
  costUsd?: number;
  wallClockMs?: number;
};

export type SessionOptions = {
  /** The task. `prompt` or `messages` is needed. */
  prompt?: string;
  /** What came before: `result.conversation` of an earlier session, or AI SDK model messages. Put right where needed (C-6). */
  messages?: readonly InputMessage[];
  /** Aborts the session. */
  signal?: AbortSignal;
  /** Any pino logger; default pino at level warn on stderr. */
  logger?: Logger;
  budget?: SessionBudget;
  onEvent?: EventListener;
  /** Default a random UUID. */
  sessionId?: string;
  /** Default the system's. For tests. */
  clock?: Clock;
  /** In [0, 1), for the jitter of the backoff; default `Math.random`. For tests. */
  random?: () => number;
  /** Sees each delivery before it is made: with the same input they bring about the same session (D-3). */
  onDelivery?: (delivery: Delivery) => void;
};

/** The report that every session ends with (F-5). */
export type SessionReport<Report> =
  | { source: 'tool_call' | 'text_fallback'; format: string; content: Report; accepted: true }
  | { source: 'synthetic'; format: string; content: string; accepted: false };

export type SessionResult<Report = unknown> = {
  sessionId: string;
  agent: string;
  status: 'succeeded' | 'failed' | 'aborted';
  success: boolean;
  report: SessionReport<Report>;
  /** Why it did not succeed, the deciding reason first; empty on success. */
  slugs: Slug[];
  counters: Counters;
  conversation: Message[];
  turns: TurnRecord[];
  slices: Record<string, unknown>;
  failure?: Failure;
};

export type Session<Report = unknown> = {
  readonly sessionId: string;
  readonly events: AsyncIterable<SessionEvent>;
  /** Never rejects (F-5). */
  readonly result: Promise<SessionResult<Report>>;
  /** Live while the session runs; not to be changed. */
  readonly counters: Readonly<Counters>;
  /** Adds a user message, which goes with the next request and stays. False: the session has ended. */
  steer(text: string): boolean;
  /** Lets what runs come to its end, and asks for the report on the next turn. */
  stop(): void;
  /** Ends the session now; every call that had come is answered. */
  abort(reason?: string): void;
  /** Decides about a call that waits for it. False: no such call waits. */
  approve(callId: string, decision: { approved: boolean; reason?: string }): boolean;
};

const least = 'a number above 0 is allowed';
const budgetSchema = z.strictObject({
  requests: z
    .int({ error: 'an integer of at least 1 is allowed' })
    .min(1, { error: 'an integer of at least 1 is allowed' })
    .optional(),
  tokens: z.number({ error: least }).positive({ error: least }).optional(),
  costUsd: z.number({ error: least }).positive({ error: least }).optional(),
  wallClockMs: z.number({ error: least }).positive({ error: least }).optional(),
});

/** Starts a session of `agent`, at once. Throws `PawlError` for options that cannot be; nothing runs before. */
export function startSession<Report>(agent: Agent<Report>, options: SessionOptions): Session<Report> {
  return new RunningSession(agent, options);
}

/** Starts a session and waits for its end. */
export function runSession<Report>(agent: Agent<Report>, options: SessionOptions): Promise<SessionResult<Report>> {
  return startSession(agent, options).result;
}

/** Timeouts belong to the effects: a machine that asks for a timer is a defect (D-1). */
const noClock = {
  setTimeout: () => {
    throw new Error('machines have no timers: waiting is an effect');
  },
  clearTimeout: () => undefined,
};

const defaultReserveTokens = 4_096;

class RunningSession<Report> implements Session<Report> {
  readonly sessionId: string;
  readonly result: Promise<SessionResult<Report>>;
  private readonly agent: Agent<Report>;
  private readonly prompt: string | null;
  private readonly observer: Observer;
  private readonly host = new Host();
  private readonly driver: MemoryDriver;
  private readonly actor: ActorRefFrom<typeof sessionMachine>;
  private readonly approvals = new Map<string, (outcome: ApprovalOutcome) => void>();
  private ended = false;

  constructor(agent: Agent<Report>, options: SessionOptions) {
    const { clock = systemClock, random = Math.random, signal } = options;
    const { messages, repairs } = inputMessages(options);
    const startedAt = clock.now();
    const input = sessionInput(agent, options.budget ?? {}, startedAt);
    this.agent = agent;
    this.prompt = options.prompt ?? null;
    this.sessionId = options.sessionId ?? randomUUID();
    let at = startedAt;
    this.observer = new Observer({
      sessionId: this.sessionId,
      agent: agent.name,
      secrets: secretsIn(agent.definition.settings?.headers ?? {}),
      messages,
      logger: options.logger ?? defaultLogger(),
      onEvent: options.onEvent ?? null,
      slices: agent.definition.slices ?? {},
      deliveredAt: () => at,
      now: () => clock.now(),
    });
    this.driver = new MemoryDriver({
      host: this.host,
      effects: this.effects(options, clock),
      clock,
      chance: random,
      command: (event) => this.actor.send(event),
      onDelivery: (delivery) => {
        at = delivery.at;
        options.onDelivery?.(delivery);
      },
      onLate: (key) => this.observer.sight({ type: 'effect.late', key }),
    });
    this.actor = createActor(sessionMachine, {
      input,
      clock: noClock,
      inspect: ({ type, actorRef }) => {
        if (type === '@xstate.actor' && isEmitter(actorRef)) actorRef.on('*', (emitted) => this.take(emitted));
      },
    });
    this.result = new Promise((resolve) => {
      this.actor.subscribe({
        complete: () => resolve(this.end(this.actor.getSnapshot().output)),
        error: (error) => resolve(this.end(this.broken(error))),
      });
    });
    if (repairs !== null) this.observer.sight({ type: 'conversation.repaired', repairs });
    this.driver.start(() => this.actor.start());
    if (signal !== undefined) this.listen(signal);
  }

  get events(): AsyncIterable<SessionEvent> {
    return this.observer.stream;
  }

  get counters(): Readonly<Counters> {
    return this.observer.counters;
  }

  steer(text: string): boolean {
    if (typeof text !== 'string' || text.trim() === '') {
      throw new PawlError('invalid_options', `steer was given ${shown(text)}: a text that is not blank is allowed.`);
    }
    if (this.ended) return false;
    this.driver.command({ type: 'session.steer', text });
    return true;
  }

  stop(): void {
    if (!this.ended) this.driver.command({ type: 'session.stop' });
  }

  abort(reason = 'aborted by the caller'): void {
    if (!this.ended) this.driver.command({ type: 'session.abort', reason });
  }

  approve(callId: string, { approved, reason = null }: { approved: boolean; reason?: string | null }): boolean {
    const decide = this.approvals.get(callId);
    decide?.({ decision: approved ? 'approved' : 'denied', reason });
    return decide !== undefined;
  }

  /** One listener for the whole actor system: leaves speak to the host, machines state facts. */
  private take(emitted: Fact | HostEvent): void {
    if (emitted.type === 'effect.requested' || emitted.type === 'effect.cancelled') this.host.take(emitted);
    else this.observer.take(emitted);
  }

  private listen(signal: AbortSignal): void {
    const abort = () => this.abort(messageOf(signal.reason));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    this.result.then(() => signal.removeEventListener('abort', abort));
  }

  private effects({ prompt }: SessionOptions, clock: Clock): Effects {
    const { agent, observer } = this;
    const { definition, limits, format } = agent;
    const { settings = {}, models, providers = {}, pricing = {}, instructions = null } = definition;
    const secrets = secretsIn(settings.headers ?? {});
    const { conversation } = observer;
    const messages = () => conversation.messages;
    const catalog = new Catalog(agent.tools, { checkTimeoutMs: limits.toolTimeoutMs, messages });
    const prompts = new PromptBuilder(conversation);
    const validator = new ReportValidator(format);
    const slots = new Slots(limits.maxConcurrentTools);
    const names = targetNames(models);
    const sight = observer.sight.bind(observer);
    let systemPrompt: string | null = null;
    const modelOptions = {
      targets: models.map((model, index) => new Target(names[index] ?? '', model, providers)),
      pricing,
      settings,
      timeoutMs: limits.modelTimeoutMs,
      idleTimeoutMs: limits.modelIdleTimeoutMs,
      prompts,
      instructions: () => systemPrompt,
      tools: catalog.offered.bind(catalog),
      callIds: conversation.callIds,
      inspectCall: catalog.inspect.bind(catalog),
      validateText: validator.ofText.bind(validator),
      measuresContext: limits.contextWindow !== null,
      sight,
      wantsDeltas: () => observer.wantsDeltas,
      now: () => clock.now(),
      secrets,
    };
    const toolOptions = {
      catalog,
      timeoutMs: limits.toolTimeoutMs,
      resultBytes: limits.toolResultBytes,
      slots,
      sight,
      onError: (name: string, callId: string, error: unknown) => observer.toolError(name, callId, error),
      redact: (text: string) => redact(text, secrets),
      messages,
    };
    return {
      prepare: async () => {
        await catalog.open();
        systemPrompt =
          typeof instructions === 'function' ? await instructions({ prompt: prompt ?? null }) : instructions;
        const contextTokens =
          limits.contextWindow === null ? 0 : messages().reduce((sum, one) => sum + estimateMessageTokens(one), 0);
        return { ok: true, contextTokens };
      },
      model: (request, { signal }) => requestModel(modelOptions, request, signal),
      tool: (request, { signal }) => runTool(toolOptions, request, signal),
      approval: ({ callId }, { signal }) => this.approval(callId, limits.approvalTimeoutMs, signal),
      wait: async ({ dueAt }, { signal }) => {
        if (dueAt === null) return new Promise(() => undefined);
        await clock.sleepUntil(dueAt, signal);
        return {};
      },
      close: async () => ({}),
    };
  }

  private approval(callId: string, timeoutMs: number | null, signal: AbortSignal): Promise<ApprovalOutcome> {
    return new Promise((resolve) => {
      const timeout =
        timeoutMs === null ? undefined : setTimeout(() => settle({ decision: 'timeout', reason: null }), timeoutMs);
      const settle = (outcome: ApprovalOutcome) => {
        clearTimeout(timeout);
        this.approvals.delete(callId);
        resolve(outcome);
      };
      this.approvals.set(callId, settle);
      signal.addEventListener('abort', () => settle({ decision: 'timeout', reason: null }), { once: true });
    });
  }

  /** The machines themselves broke: a defect, which still is a failed session with its one ERROR line (S-3). */
  private broken(error: unknown): SessionOutput {
    const failure: Failure = { slugs: ['internal_error'], retryAt: null, detail: messageOf(error) };
    this.observer.take({ type: 'session.failed', turns: this.observer.counters.turns, failure });
    return { status: 'failed', failure };
  }

  private end(output: SessionOutput | undefined): SessionResult<Report> {
    this.ended = true;
    const ending = output ?? this.broken(new Error('the session ended without an output'));
    const { observer, agent, sessionId } = this;
    const { counters, conversation, records, sliceStates } = observer;
    const result = {
      sessionId,
      agent: agent.name,
      status: ending.status,
      success: ending.status === 'succeeded',
      report: this.report(ending),
      slugs: ending.status === 'succeeded' ? [] : ending.failure.slugs,
      counters,
      conversation: conversation.messages,
      turns: records.turns,
      slices: sliceStates,
      ...(ending.status !== 'succeeded' && { failure: ending.failure }),
    };
    observer.stream.end();
    return result;
  }

  /** A report always exists; only here is one made up, and only when the session did not succeed (F-5). */
  private report(ending: SessionOutput): SessionReport<Report> {
    const { observer, agent, prompt } = this;
    const format = agent.format.name;
    const { accepted, turns } = observer.records;
    if (ending.status === 'succeeded' && accepted !== null && accepted.source !== 'synthetic') {
      return { source: accepted.source, format, content: accepted.content as Report, accepted: true };
    }
    const status = ending.status === 'aborted' ? 'aborted' : 'failed';
    const failure = ending.status === 'succeeded' ? { slugs: [], retryAt: null, detail: null } : ending.failure;
    const content = syntheticReport(status, prompt, failure, observer.counters, turns);
    return { source: 'synthetic', format, content, accepted: false };
  }
}

type Emitter = { on(type: '*', listener: (emitted: Fact | HostEvent) => void): unknown };

/** Every actor of the system is one: machines emit facts, and leaves what they ask of the host. */
function isEmitter(actor: object): actor is Emitter {
  return 'on' in actor && typeof actor.on === 'function';
}

function inputMessages({ prompt, messages = [] }: SessionOptions) {
  if (prompt === undefined && messages.length === 0) {
    throw new PawlError('invalid_options', 'prompt is undefined and messages is empty: one of them is needed.');
  }
  if (prompt !== undefined && (typeof prompt !== 'string' || prompt.trim() === '')) {
    throw new PawlError('invalid_options', `prompt is ${shown(prompt)}: a text that is not blank is allowed.`);
  }
  const repaired = repairConversation(parseMessages(messages));
  const changed = Object.values(repaired.repairs).some((count) => count > 0);
  if (prompt !== undefined) repaired.messages.push(userMessage(prompt));
  return { messages: repaired.messages, repairs: changed ? repaired.repairs : null };
}

function sessionInput(agent: Agent, budget: SessionBudget, at: number): SessionInput {
  const { limits, definition } = agent;
  const {
    requests = null,
    tokens = null,
    costUsd = null,
    wallClockMs,
  } = check(budgetSchema, budget, 'budget', 'invalid_budget');
  const targets = targetNames(definition.models);
  if (costUsd !== null) {
    const unpriced = targets.find((name) => definition.pricing?.[name] === undefined);
    if (unpriced !== undefined) {
      throw new PawlError(
        'invalid_budget',
        `budget.costUsd is ${costUsd}, and ${unpriced} has no price: pricing is needed for every model of the agent.`,
      );
    }
  }
  const limit: Budget = { requests, tokens, costUsd, deadlineAt: wallClockMs === undefined ? null : at + wallClockMs };
  const windowTokens = limits.contextWindow;
  const reserve = definition.settings?.maxOutputTokens ?? defaultReserveTokens;
  return {
    bound: { maxTurns: limits.maxTurns, maxRetries: limits.maxRetries },
    maxToolCalls: limits.maxToolCallsPerTurn,
    targets,
    finish: definition.finish ?? 'report',
    budget: limit,
    window: {
      windowTokens,
      reserveTokens: windowTokens === null ? 0 : Math.min(reserve, Math.floor(windowTokens / 4)),
    },
    at,
  };
}
