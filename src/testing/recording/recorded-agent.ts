import { readFileSync } from 'node:fs';
import { jsonSchema } from '@ai-sdk/provider-utils';
import { z } from 'zod';
import { defineAgent } from '../../agent/define-agent.ts';
import { type Agent, type AgentDefinition, requireAgent } from '../../agent/definition.ts';
import { handedAgent } from '../../agent/handoff.ts';
import { check } from '../../input/check.ts';
import { PawlError, reasonOf } from '../../input/errors.ts';
import { nonBlank } from '../../input/shapes.ts';
import { checkSession } from '../../journal/given.ts';
import type { Journal, JournalEntry } from '../../journal/journal.ts';
import { readTape } from '../../journal/tape.ts';
import type { SdkModel } from '../../model/sdk-model.ts';
import { type AnySchema, compileSchema } from '../../schema/schema.ts';
import type { SessionOptions } from '../../session/options.ts';
import type { LocalTool } from '../../tools/local.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';
import { type AgentRecording, inputKey, recordingsIn } from './of-journal.ts';
import { answeringModel, answeringShape, type RecordedModelOptions } from './recorded-model.ts';

/** A recorded session: a file that `pawl export` wrote, or a session of a journal. */
export type RecordedSource = string | { journal: Journal; sessionId: string };

export type RecordedAgentOptions = RecordedModelOptions & {
  /** The tools, by name, whose own code runs; all others answer what they answered then. Default: none. */
  realTools?: readonly string[];
};

/** An agent whose models, and tools, answer as they did in a recorded session; and what that session was given. */
export type RecordedAgent<Report, Context> = {
  agent: Agent<Report, Context>;
  /** The prompt and the messages of the recorded session, for one that is to go the same way. */
  given: Pick<SessionOptions, 'prompt' | 'messages' | 'metadata'>;
};

const optionsSchema = z.strictObject({
  ...answeringShape,
  realTools: z.array(nonBlank).default([]),
} satisfies Record<keyof RecordedAgentOptions, z.ZodType>);

/**
 * Returns an agent as it is today, with the models of a recorded session and of its sub-agents in the place of its own:
 * what happened then is a test of what would happen now. Tools answer what they answered, so that nothing is done twice; MCP
 * servers are not connected. Rejects with `invalid_options`, `session_unknown` or `invalid_journal`.
 */
export async function recordedAgent<Report, Context>(
  given: Agent<Report, Context>,
  source: RecordedSource,
  options: RecordedAgentOptions = {},
): Promise<RecordedAgent<Report, Context>> {
  requireAgent(given);
  const checked = check(optionsSchema, options, 'options', 'invalid_options');
  const entries = await entriesOf(source);
  const { head, agents } = recordingsIn(entries);
  // A sub-agent's session has its own recording; an agent that takes the conversation over answers from that of the session.
  const replaced = onceEach((agent) => {
    const session = answeringOf(agents.get(agent.name) ?? null, checked);
    const handed = onceEach((other) => defineAgent(replacedIn(other, session, checked, { replaced, handed })));
    return handed(agent);
  });
  const { prompt, messages, metadata } = head;
  // The prompt is the last of the messages.
  const before = prompt === null ? messages : messages.slice(0, -1);
  return {
    agent: replaced(given as Agent) as Agent<Report, Context>,
    given: {
      ...(prompt !== null && { prompt }),
      ...(before.length > 0 && { messages: before as never }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    },
  };
}

/** Two agents that share a third share what takes its place. */
function onceEach(make: (agent: Agent) => Agent): (agent: Agent) => Agent {
  const made = new Map<Agent, Agent>();
  return (agent) => {
    const known = made.get(agent) ?? make(agent);
    made.set(agent, known);
    return known;
  };
}

async function entriesOf(source: RecordedSource): Promise<readonly JournalEntry[]> {
  if (typeof source !== 'string') {
    checkSession(source?.journal, source?.sessionId);
    return source.journal.read(source.sessionId);
  }
  try {
    return readTape(readFileSync(source, 'utf8'));
  } catch (error) {
    if (error instanceof PawlError) throw error;
    throw new PawlError('invalid_journal', `The exported session ${source} cannot be read: ${reasonOf(error)}.`);
  }
}

/** What answers in the place of a session's models and tools. */
type Answering = {
  model: SdkModel;
  answers: Answers;
  offered: AgentRecording['offered'];
  /** What takes the place of each tool, by the tool, or by its name for one of a server: agents may share it. */
  tools: Map<LocalTool | string, LocalTool>;
};

function answeringOf(
  recording: AgentRecording | null,
  { strict, afterwards }: { strict: boolean; afterwards?: SdkModel | undefined },
): Answering {
  const { provider = 'recorded', modelId = 'none', exchanges = [] } = recording ?? {};
  const { answers = new Map(), offered = new Map() } = recording ?? {};
  const model = answeringModel({ provider, modelId, exchanges }, { strict, ...(afterwards && { afterwards }) });
  return { model, answers, offered, tools: new Map() };
}

function replacedIn(
  { definition }: Agent,
  { model, answers, offered, tools: made }: Answering,
  { realTools }: { realTools: readonly string[] },
  { replaced, handed: replacedHere }: Record<'replaced' | 'handed', (agent: Agent) => Agent>,
): AgentDefinition {
  // What a cache keeps is of today.
  const { agents = {}, handoffs = {}, tools = {}, mcpServers = {}, cache: _, ...rest } = definition;
  const inPlaceOf = (tool: LocalTool | string, make: () => LocalTool) => {
    const known = made.get(tool) ?? make();
    made.set(tool, known);
    return known;
  };
  // Its own code does not run: what it returned is in the conversation.
  const handed = (all: NonNullable<AgentDefinition['handoffs']>) =>
    Object.fromEntries(
      Object.entries(all).map(([name, entry]) => {
        const agent = replacedHere(handedAgent(entry));
        if (!('agent' in entry)) return [name, agent];
        const { input, onHandoff } = entry;
        const answer = onHandoff && answerFrom(`transfer_to_${name}`, answers, input);
        return [name, { agent, ...(input && { input }), ...(answer && { onHandoff: answer }) }];
      }),
    );
  const mapped = (all: Readonly<Record<string, Agent>>) =>
    Object.fromEntries(Object.entries(all).map(([name, agent]) => [name, replaced(agent)]));
  const own = Object.entries(tools).map(([name, tool]) => [
    name,
    realTools.includes(name) ? tool : inPlaceOf(tool, () => answering(name, tool, answers)),
  ]);
  const servers = Object.keys(mcpServers);
  const ofServers = [...offered].flatMap(([name, tool]) =>
    servers.some((server) => name.startsWith(`${server}__`))
      ? [[name, inPlaceOf(name, () => serverTool(name, tool, answers))] as const]
      : [],
  );
  return {
    ...rest,
    models: [model],
    tools: Object.fromEntries([...own, ...ofServers]),
    ...(Object.keys(agents).length > 0 && { agents: mapped(agents) }),
    ...(Object.keys(handoffs).length > 0 && { handoffs: handed(handoffs) }),
  };
}

type Answers = AgentRecording['answers'];

/** The tool, which answers what it answered, in the order of the calls with the same input. */
function answering(name: string, tool: LocalTool, answers: Answers): LocalTool {
  const execute = answerFrom(name, answers, 'inputSchema' in tool ? (tool.inputSchema as AnySchema) : undefined);
  if (typeof tool === 'function') return Object.assign(execute, tool) as LocalTool;
  // A client-side tool, or one of a provider, has no code here.
  return 'execute' in tool && typeof tool.execute === 'function' ? ({ ...tool, execute } as LocalTool) : tool;
}

function serverTool(name: string, offered: { description: string; inputSchema: object }, answers: Answers): LocalTool {
  const { description, inputSchema } = offered;
  return { description, inputSchema: jsonSchema(inputSchema), execute: answerFrom(name, answers) } as LocalTool;
}

/** `schema` is what the tool's inputs pass through: it may change them, and the recording has them as they were sent. */
function answerFrom(name: string, answers: Answers, schema?: AnySchema): (input: unknown) => unknown {
  const checked = schema === undefined ? null : compileSchema(schema, name);
  const keyOf = async (input: unknown): Promise<string | undefined> => {
    const key = inputKey(name, input);
    if (answers.has(key) || checked === null) return key;
    for (const sent of answers.keys()) {
      if (!sent.startsWith(`${name} `)) continue;
      const found = await checked.validate(JSON.parse(sent.slice(name.length + 1)));
      if (found.valid && inputKey(name, found.value) === key) return sent;
    }
    return undefined;
  };
  return async (input) => {
    const key = await keyOf(input);
    const [answer, ...more] = answers.get(key ?? '') ?? [];
    if (key === undefined || answer === undefined)
      throw new ToolError(`No answer of ${name} to this input was recorded.`);
    // The last one answers again.
    if (more.length > 0) answers.set(key, more);
    if (answer.success) return answer.value ?? answer.message;
    throw new ToolError(answer.message);
  };
}
