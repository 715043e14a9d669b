import { randomUUID } from 'node:crypto';
import type { WorkflowContext, WorkflowSharedContext } from '@restatedev/restate-sdk';
import { TerminalError, workflow } from '@restatedev/restate-sdk';
import { z } from 'zod';
import { type Agent, anAgent } from '../agent/definition.ts';
import { check } from '../input/check.ts';
import { PawlError } from '../input/errors.ts';
import { aFunction, count } from '../input/shapes.ts';
import type { SessionMessage } from '../journal/journal.ts';
import type { EventListener } from '../observe/events.ts';
import { type LoggerOption, loggerOf } from '../observe/log/logger.ts';
import { commonOptions } from '../session/common-options.ts';
import { receiveMessage } from '../session/recovery/messages.ts';
import { tellWhatWaits } from '../session/recovery/resume-session.ts';
import { RunningSession } from '../session/running-session.ts';
import type { SessionResult } from '../session/session.ts';
import { root } from '../session/sub-agents/lineage.ts';
import { surroundingsOf } from '../session/wiring/surroundings.ts';
import { unanswered } from '../tools/client-tool.ts';
import { AwaitedSteps } from './awaited-steps.ts';
import { LineBuffer } from './line-buffer.ts';
import { mostStoredBytes, tooLarge } from './payload.ts';
import { begunWith, checkMessage, type RestateRequest, requestedAgent } from './request.ts';
import { childrenOf } from './restate-children.ts';
import { isProcessing, messageName, RestateDriver } from './restate-driver.ts';
import { cancellation, type RestateOwner, type TimedMessage } from './restate-owner.ts';
import { stepLimitMs } from './step-limit.ts';

export type { RestateRequest } from './request.ts';

export type RestateAgentsOptions = {
  /** The agents that sessions can use, with distinct names. */
  agents: readonly Agent[];
  /** The workflow's name. Default: `pawl`. */
  name?: string;
  /** Default: pino at warn on stderr. */
  logger?: LoggerOption;
  /**
   * Receives the events of the sessions in this process. After a crash, the last events may arrive again. In a process that
   * continues a session, `seq` does not count what effects told before, such as deltas.
   */
  onEvent?: EventListener;
  /**
   * The most bytes that the server stores as one value: less than its limit for messages, which a server may be given. A
   * larger input is refused, and a larger result of an effect is a defect. Default: 30 MiB.
   */
  maxValueBytes?: number;
};

/** What the engine takes as the name of a service. */
const serviceName = /^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9._-]*$/;
const optionsSchema = z.strictObject({
  agents: z.array(anAgent, { error: 'an array of agents' }).min(1, { error: 'at least one agent' }),
  name: z
    .string()
    .regex(serviceName, { error: 'a name of letters, digits, `.`, `_` and `-` that begins with a letter' })
    .default('pawl'),
  logger: commonOptions.logger,
  onEvent: aFunction.optional(),
  maxValueBytes: count.default(mostStoredBytes),
} satisfies Record<keyof RestateAgentsOptions, z.ZodType>);

/**
 * Makes a Restate workflow of agents, for `serve({ services: [restateAgents({ agents })] })`. Each session is one run of
 * the workflow, with the session's id as key; `message` accepts messages from any process. Cancelling an invocation
 * aborts its session. Throws `PawlError` (`invalid_options`).
 */
export function restateAgents(options: RestateAgentsOptions) {
  const { agents, name, maxValueBytes } = check(optionsSchema, options, 'options', 'invalid_options');
  const { logger, onEvent = () => undefined } = options;
  const named = new Map(agents.map((agent) => [agent.name, agent]));
  if (named.size < agents.length) {
    const twice = agents.map((agent) => agent.name).find((one, index, all) => all.indexOf(one) !== index);
    throw new PawlError('invalid_options', `\`options.agents\` must have distinct names; got "${twice}" twice.`);
  }
  const run = async (context: WorkflowContext, request: RestateRequest): Promise<SessionResult> => {
    const { agent, lineage } = requestedAgent(named, request);
    const early: TimedMessage[] = [];
    const steps = new AwaitedSteps(context, (at, reason) => early.push(cancellation(at, reason)));
    const { head, repairs } = await steps.completed(
      context.run('begin', () => begunWith(agent, context.key, request, maxValueBytes)),
    );
    const lines = new LineBuffer(loggerOf(logger), (error) => session.life.observer.userCodeFailed('logger', error));
    const { attemptCompletedSignal } = context.request();
    const owner: RestateOwner = {
      interrupted: (effect) => session.life.interruptionOf(effect),
      approvalTimeoutMs: agent.limits.approvalTimeoutMs,
      handOut: (effect) => {
        // The catalog would not do: an effect fills it, and a replay performs none.
        const { callId, name, index } = effect.request;
        if (!agent.tools.get(name)?.isClientSide) return null;
        session.life.observer.sight({ type: 'tool.handedOut', callId, name, input: session.life.inputOf(index) });
        const timeoutMs = agent.limits.clientToolTimeoutMs;
        return { timeoutMs, outcome: unanswered(name, timeoutMs) };
      },
      receive: (message) => {
        if (!('callId' in message)) {
          receiveMessage(session, message);
          return;
        }
        const { sessionId, callId } = message;
        const isOwn =
          sessionId === null
            ? session.waiting().some((call) => call.callId === callId)
            : sessionId === session.sessionId;
        if (!isOwn) children.send(message);
        // A sub-agent, elsewhere, may wait for a call of the same id.
        else if (sessionId !== null || !children.areRunning()) receiveMessage(session, message);
      },
      hasEnded: () => session.life.hasEnded,
      openTools: async () => {
        const missing = await session.life.openTools(attemptCompletedSignal);
        if (missing !== null) throw new Error(missing);
      },
      caughtUp: () => tellWhatWaits(session, session.life.observer.position, { handedOut: true }),
      takeLines: () => lines.takeLines(),
      maxValueBytes,
      get children() {
        return children;
      },
    };
    const driver = new RestateDriver(context, randomUUID(), head.input.at, owner);
    const session = new RunningSession({
      agent,
      head,
      log: null,
      lineage,
      around: surroundingsOf({
        logger: lines,
        // A tool may change it. Sub-agents and replays begin with what came.
        context: structuredClone(request.context),
        onEvent: (event, own) => (isProcessing(context) ? onEvent(event, own) : undefined),
      }),
      driver: (...attached) => driver.attach(...attached),
    });
    const children = childrenOf(context, name, request, session);
    const release = () => {
      driver.release();
      // The process lives on after a suspension, but its part of the session does not.
      session.life.closeServers().catch((error) => session.life.observer.userCodeFailed('close', error));
    };
    attemptCompletedSignal.addEventListener('abort', release);
    session.start(repairs === null ? [] : [{ type: 'conversation.repaired', repairs }]);
    await driver.drive(early);
    const result = await session.result;
    // A defect is logged after the last delivery.
    await driver.writeLines();
    return limited(result, lineage.depth > root.depth, maxValueBytes);
  };
  const message = async (context: WorkflowSharedContext, given: SessionMessage): Promise<void> => {
    const checked = checkMessage(given);
    const at = await context.date.now();
    // Messages resolve numbered promises in order. Two that arrive together try the same one, and one of them moves on.
    for (let number = 1; ; number += 1) {
      try {
        await context.promise<TimedMessage>(messageName(number)).resolve({ at, message: checked });
        return;
      } catch (error) {
        if (!(error instanceof TerminalError) || error.code !== promiseTaken) throw error;
      }
    }
  };
  return workflow({ name, handlers: { run, message }, options: { abortTimeout: stepLimitMs(agents) } });
}

/** The code of an error for a promise that has been resolved. */
const promiseTaken = 409;

/** What the engine stores of a result. A session needs no more of its sub-agent than its end, its report and its counters. */
function limited(result: SessionResult, isOfSubAgent: boolean, mostBytes: number): SessionResult {
  const why = tooLarge(result, mostBytes);
  if (why === null) return result;
  const short = { ...result, conversation: [], turns: [] };
  if (isOfSubAgent && tooLarge(short, mostBytes) === null) return short;
  const message = `The session ${result.sessionId} ${result.status}, but its result ${why}.`;
  throw new TerminalError(message, { errorCode: 413 });
}
