import { type Reply, type ReplyPart, replyCalls, type Usage } from '../../../machines/index.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { Session, SessionResult } from '../../session/session.ts';
import { declineQuestion } from '../../session/unasked.ts';
import { type AgentStep, errorStep, reportStep, stepOf, type Taken } from './steps.ts';

type Answered = Extract<SessionEvent, { type: 'tool.answered' }>;

export type CallAnswered = { output: unknown; isError: boolean };
export type CallDecision = { approved: boolean; reason?: string };

/** A call of the conversation that the SDK shows. */
type Call = {
  /** Whether a person is asked, or the call is answered from outside: known once it is so, or once it has its answer. */
  isAsked: PromiseWithResolvers<boolean>;
  answer: PromiseWithResolvers<Answered | null>;
  waits: 'approval' | 'answer' | null;
  isDecided: boolean;
  /** What a client gave, beside the approval of its own call. */
  given: CallAnswered | null;
};

const nobody = 'No one can be asked here for a call of a sub-agent or of a batch.';

/**
 * A session as the steps of an agent of the SDK: a step is a reply with the calls that it makes, or the end. Nothing that
 * was shown there can be taken back, so a reply is shown once its calls begin, and one without calls once it counts.
 */
export class AgentRun {
  readonly session: Session;
  private readonly steps: AgentStep[] = [];
  private readonly calls = new Map<string, Call>();
  /** The signals that abort it. */
  private readonly heeded = new WeakSet<AbortSignal>();
  private arrived = Promise.withResolvers<void>();
  /** What was not shown yet: replies that only their provider's tools answered, what they took, and what failed. */
  private held: ReplyPart[] = [];
  private usage: Usage[] = [];
  private slugs: string[] = [];
  /** The reply of the current attempt, until it is shown or held. */
  private reply: Reply | null = null;
  /** Hears the tools whose calls are shown. */
  private shown: (tool: string) => void = () => {};
  private readonly names = new Set<string>();
  /** The calls of the current reply that are part of a batch. */
  private inner = new Set<number>();

  constructor(session: Session) {
    this.session = session;
    void this.read();
  }

  /** `show` hears of each tool before its calls are shown, those before now included. */
  showTo(show: (tool: string) => void): void {
    this.shown = show;
    for (const name of this.names) show(name);
  }

  /** Resolves with the next step. */
  async next(): Promise<AgentStep> {
    for (;;) {
      const step = this.steps.shift();
      if (step !== undefined) return step;
      await this.arrived.promise;
      this.arrived = Promise.withResolvers();
    }
  }

  /** Resolves with whether a person is asked to approve the call. */
  async needsApproval(callId: string): Promise<boolean> {
    const call = this.calls.get(callId);
    return call !== undefined && (await call.isAsked.promise);
  }

  /** Resolves with the answer of a call; rejects with the error that the model reads. */
  async answerOf(callId: string): Promise<unknown> {
    const answered = await this.calls.get(callId)?.answer.promise;
    if (answered == null) throw new Error('The call was not run.');
    const { result } = answered;
    if (!result.success) throw new Error(result.message);
    return result.value ?? result.message;
  }

  /** The calls that wait for a decision or an answer, by id, and for which. */
  get waiting(): ReadonlyMap<string, 'approval' | 'answer'> {
    return new Map(
      [...this.calls].flatMap(([callId, { waits, isDecided }]) =>
        waits === null || isDecided ? [] : [[callId, waits] as const],
      ),
    );
  }

  /** Decides the calls that wait. */
  decide(decisions: ReadonlyMap<string, CallDecision>, answers: ReadonlyMap<string, CallAnswered>): void {
    for (const callId of this.waiting.keys()) {
      const call = this.calls.get(callId);
      const [decision, answer] = [decisions.get(callId), answers.get(callId)];
      if (call === undefined) continue;
      call.isDecided = true;
      call.given = answer ?? null;
      if (call.waits === 'approval' && decision !== undefined) this.session.approve(callId, decision);
      else if (answer !== undefined) this.session.answer(callId, answer.output, { isError: answer.isError });
    }
  }

  /** Aborts the session when the signal aborts. */
  endWith(signal: AbortSignal | undefined): void {
    if (signal === undefined || this.heeded.has(signal)) return;
    this.heeded.add(signal);
    const abort = () => this.session.abort('the caller aborted');
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    void this.session.result.then(() => signal.removeEventListener('abort', abort));
  }

  private async read(): Promise<void> {
    for await (const event of this.session.events) {
      declineQuestion(event, this.session);
      if (event.path.length === 0) this.own(event);
      else this.refuse(event);
    }
    this.end(await this.session.result);
  }

  private own(event: SessionEvent): void {
    switch (event.type) {
      case 'attempt.replied':
        this.usage.push(event.usage);
        this.reply = event.reply;
        this.inner = new Set(event.calls.flatMap(({ within }, index) => (within === null ? [] : [index])));
        return;
      case 'tool.requested':
        if (event.kind !== 'provider' && !this.inner.has(event.index)) this.show();
        return;
      case 'tool.approvalRequested':
      case 'tool.handedOut':
        this.wait(event);
        return;
      case 'tool.answered':
        this.settle(event.callId, event);
        return;
      case 'attempt.finished':
      case 'attempt.progressed':
        this.held.push(...(this.reply?.content ?? []));
        this.leave();
        return;
      case 'attempt.failed':
        this.slugs.push(...event.slugs);
        this.leave();
        return;
      case 'attempt.aborted':
        this.leave();
        return;
    }
  }

  /** The first call begins: the reply stays. */
  private show(): void {
    const { reply } = this;
    if (reply === null) return;
    for (const { callId, name, providerExecuted } of replyCalls(reply)) {
      if (providerExecuted) continue;
      this.names.add(name);
      this.shown(name);
      this.calls.set(callId, {
        isAsked: Promise.withResolvers(),
        answer: Promise.withResolvers(),
        waits: null,
        isDecided: false,
        given: null,
      });
    }
    this.reply = null;
    this.add(stepOf([...this.held, ...reply.content], this.taken('tool-calls')));
  }

  private wait(event: Extract<SessionEvent, { type: 'tool.approvalRequested' | 'tool.handedOut' }>): void {
    const call = this.calls.get(event.callId);
    if (call === undefined) {
      this.refuse(event);
      return;
    }
    const wasApproved = call.isDecided;
    call.waits = event.type === 'tool.approvalRequested' ? 'approval' : 'answer';
    call.isDecided = false;
    call.isAsked.resolve(call.waits === 'approval');
    if (!wasApproved) return;
    // A call that was approved waits once more, now for its answer.
    if (call.given === null) this.add(stepOf([], this.taken('tool-calls')));
    else this.decide(new Map(), new Map([[event.callId, call.given]]));
  }

  private settle(callId: string, answer: Answered | null): void {
    const call = this.calls.get(callId);
    if (call === undefined) return;
    call.waits = null;
    call.isAsked.resolve(false);
    call.answer.resolve(answer);
  }

  /** The attempt is over. */
  private leave(): void {
    this.reply = null;
    for (const callId of this.calls.keys()) this.settle(callId, null);
  }

  private end(result: SessionResult): void {
    this.leave();
    const taken = this.taken(result.success ? 'stop' : 'error');
    this.add(result.success ? reportStep(this.held, result, taken) : errorStep(result, taken));
  }

  private taken(finish: Taken['finish']): Taken {
    const { sessionId } = this.session;
    const taken: Taken = { sessionId, finish, usage: this.usage, slugs: this.slugs };
    this.usage = [];
    this.slugs = [];
    return taken;
  }

  private add(step: AgentStep): void {
    this.held = [];
    this.steps.push(step);
    this.arrived.resolve();
  }

  /** Answers what waits for somebody whom the SDK's agents cannot ask. */
  private refuse({ type, sessionId, ...event }: SessionEvent): void {
    if (!('callId' in event) || event.callId === null) return;
    if (type === 'tool.approvalRequested')
      this.session.approve(event.callId, { approved: false, reason: nobody, sessionId });
    if (type === 'tool.handedOut') this.session.answer(event.callId, nobody, { isError: true, sessionId });
  }
}
