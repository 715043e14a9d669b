import {
  type AgentCallParameters,
  type Agent as AiAgent,
  dynamicTool,
  generateText,
  jsonSchema,
  type ModelMessage,
  streamText,
  type ToolSet,
} from 'ai';
import { z } from 'zod';
import { checkContext } from '../../agent/context.ts';
import { type Agent, requireAgent } from '../../agent/definition.ts';
import { check } from '../../input/check.ts';
import { aFunction } from '../../input/shapes.ts';
import { aJournal } from '../../journal/given.ts';
import { commonOptions } from '../../session/common-options.ts';
import { sessionInput } from '../../session/input.ts';
import type { SessionOptions } from '../../session/options.ts';
import { startSession } from '../../session/start-session.ts';
import { type Metadata, metadataShape } from '../../vocabulary/metadata.ts';
import { AgentRun } from './agent-run.ts';
import { decided, withoutSession } from './decisions.ts';
import { sessionModel } from './session-model.ts';

/** The options of every session, as for `startSession`. */
export type ToAgentOptions = Pick<SessionOptions, 'journal' | 'logger' | 'onEvent' | 'telemetry' | 'budget'>;

/** What a call of `generate` or `stream` gives its session, in `options`; for an agent whose context has a type. */
export type AgentCallOptions<Context> = unknown extends Context ? never : { context: Context; metadata?: Metadata };

const optionsSchema = z.strictObject({
  journal: aJournal.optional(),
  logger: commonOptions.logger,
  onEvent: aFunction.optional(),
  telemetry: commonOptions.telemetry,
  budget: z.unknown().optional(),
} satisfies Record<keyof ToAgentOptions, z.ZodType>);
const callSchema = z.strictObject({ context: z.unknown().optional(), metadata: metadataShape.optional() });

/**
 * Returns an agent as the AI SDK's `Agent`, for whatever takes one, such as `createAgentUIStreamResponse`. A call of
 * `generate` or `stream` is a session. A reply that counts is a step, with its calls; since the SDK takes nothing back, it
 * is sent as a whole, once it counts. What failed attempts used is in the next step, and their slugs in its
 * `providerMetadata.pawl`. A report that came by a tool is the text of the last step.
 *
 * A session that fails rejects `generate` with `SessionFailed`, which is an error part in a stream. A call that needs
 * approval, or that a client answers, ends the result as with the SDK's own agents, and the next call of this object
 * decides it: all that wait together (else `invalid_messages`), in this process (else `session_unknown`). Calls of
 * sub-agents and batches that need a person are denied, and `abortSignal` aborts the session.
 * Throws `invalid_options` and `invalid_budget`.
 */
export function toAgent<Report, Context>(
  agent: Agent<Report, Context>,
  options: ToAgentOptions = {},
): AiAgent<AgentCallOptions<Context>, ToolSet> {
  requireAgent(agent);
  check(optionsSchema, options, 'options', 'invalid_options');
  sessionInput(agent, options.budget ?? {}, 0);
  const tools = toolsOf(agent);
  /** The sessions that have not ended, by id. */
  const runs = new Map<string, AgentRun>();
  const begin = ({ options: own, ...call }: Given) => {
    const { context, metadata } = check(callSchema, own ?? {}, 'options', 'invalid_options');
    checkContext(agent, context);
    const given = call.messages ?? call.prompt ?? '';
    const live: ToolSet = {};
    const execute = (_: unknown, { toolCallId, abortSignal }: { toolCallId: string; abortSignal?: AbortSignal }) => {
      running().endWith(abortSignal);
      return running().answerOf(toolCallId);
    };
    // Those of MCP servers, and Pawl's own, are known once they are called.
    const show = (name: string) => {
      live[name] ??= dynamicTool({ inputSchema: anyInput, execute });
    };
    for (const [name, shown] of Object.entries(tools))
      live[name] = agent.tools.get(name)?.isClientSide === true ? shown : ({ ...shown, execute } as ToolSet[string]);
    let run = typeof given === 'string' ? null : decided(given, runs);
    run?.showTo(show);
    const running = (): AgentRun => {
      if (run !== null) return run;
      const task = typeof given === 'string' ? { prompt: given } : { messages: withoutSession(given) };
      const noted = metadata === undefined ? {} : { metadata };
      const session = startSession<unknown, unknown>(agent, { ...options, ...task, ...noted, context });
      run = new AgentRun(session);
      run.showTo(show);
      runs.set(session.sessionId, run);
      void session.result.then(() => runs.delete(session.sessionId));
      return run;
    };
    return {
      ...(call as AgentCallParameters<never, ToolSet>),
      model: sessionModel(agent.name, (signal) => {
        const session = running();
        session.endWith(call.abortSignal);
        session.endWith(signal);
        return session.next();
      }),
      tools: live,
      toolApproval: async ({ toolCall }: { toolCall: { toolCallId: string } }) =>
        (await running().needsApproval(toolCall.toolCallId)) ? ('user-approval' as const) : ('not-applicable' as const),
      // The bound is the session's, and so are its retries.
      stopWhen: () => false,
      maxRetries: 0,
    };
  };
  return {
    version: 'agent-v1',
    id: agent.name,
    tools,
    generate: async (call) => generateText<ToolSet>(begin(call as Given)),
    // The error is a part of the stream, and Pawl's log has it.
    stream: async (call) => streamText<ToolSet>({ ...begin(call as Given), onError: () => undefined }),
  };
}

/** What a call is given, whatever the type of its context. */
type Given = Omit<AgentCallParameters<never, ToolSet>, 'options' | 'prompt' | 'messages'> & {
  options?: unknown;
  prompt?: string | ModelMessage[];
  messages?: ModelMessage[];
};

/** The session checks the input, and says what it refuses. */
const anyInput = jsonSchema({});

/** The agent's own tools, and those of agents that it hands over to. Without `execute`: a session runs them. */
function toolsOf({ tools, voices }: Agent): ToolSet {
  const given = new Map(voices.flatMap(({ definition }) => Object.entries(definition.tools ?? {})));
  const own = [...tools.values()].filter(({ name, kind }) => kind === 'real' && given.has(name));
  return Object.fromEntries(own.map(({ name }) => [name, { ...shownPart(given.get(name)), inputSchema: anyInput }]));
}

/** What a page and the history need of a tool. */
function shownPart(given: unknown): Pick<ToolSet[string], 'toModelOutput'> & { description?: string } {
  if (typeof given !== 'object' || given === null) return {};
  const { description, toModelOutput } = given as ToolSet[string];
  return {
    ...(typeof description === 'string' && { description }),
    ...(toModelOutput !== undefined && { toModelOutput: toModelOutput.bind(given) }),
  };
}
