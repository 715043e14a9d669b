import { text as readText } from 'node:stream/consumers';
import { defineAgent } from '../agent/define-agent.ts';
import type { Agent, AgentDefinition } from '../agent/definition.ts';
import { PawlError } from '../input/errors.ts';
import { unavailableTargets } from '../model/targets.ts';
import { shortestSecret } from '../secrets/spellings.ts';
import { noRepeats } from '../tools/policies.ts';
import { readingTools } from '../workspace/file-tools.ts';
import { readAgentFile } from './agent-file.ts';
import type { Flags } from './command-line.ts';
import { UsageError } from './command-line.ts';
import { chosenModel } from './models.ts';
import { runInTerminal } from './terminal/running.ts';

/** `pawl run`: runs the agent in a file, or else a default agent that can read the current folder. */
export async function runCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  const prompt = await promptOf(positionals);
  if (prompt === '') throw new UsageError('Missing prompt: pawl run "prompt", or pawl run - to read it from stdin.');
  return runInTerminal(await runAgent(flags), { prompt }, flags);
}

/** Returns the prompt; `-` stands for what stdin holds. */
async function promptOf(words: readonly string[]): Promise<string> {
  const given = words.includes('-') ? await readText(process.stdin) : '';
  return words
    .map((word) => (word === '-' ? `\n\n${given}\n\n` : word))
    .join(' ')
    .trim();
}

/** The agent of `pawl run`: from the file, or the default one. */
export async function runAgent(flags: Flags): Promise<Agent> {
  const given = flags.agent === undefined ? lookingAround() : await readAgentFile(flags.agent);
  return agentOf(given, flags, flags.agent);
}

/** Builds an agent from a definition, which is in `file`, with the model and the bound from the flags. */
export async function agentOf(given: AgentDefinition, flags: Flags, file?: string): Promise<Agent> {
  const model = await chosenModel(flags);
  // Only a flag overrides the agent's own models; a key in the environment does not.
  const overrides = flags.model !== undefined || flags.baseUrl !== undefined || (given.models ?? []).length === 0;
  const models = overrides && model !== null ? [model] : (given.models ?? []);
  if (models.length === 0) {
    throw new UsageError(
      'No model is set: pass --model, add models to the agent file, or set a key such as OPENAI_API_KEY.',
    );
  }
  // The model of --base-url is made here, so the definition does not hold its key.
  const { OPENAI_API_KEY: key } = process.env;
  // A local server needs none, and gets a placeholder.
  const isKey = flags.baseUrl !== undefined && key !== undefined && key.length >= shortestSecret;
  const secrets = [...(given.secrets ?? []), ...(isKey ? [key] : [])];
  // Nobody watches a command all the time.
  const toolPolicies = [...(given.toolPolicies ?? []), noRepeats()];
  const agent = named(file, () => defineAgent(withBound({ ...given, models, secrets, toolPolicies }, flags)));
  const missing = unavailableTargets(agent.targets);
  if (missing.length < agent.targets.length) return agent;
  throw new UsageError(missing.map(({ message }) => message).join(' '));
}

/** Names the file in what is wrong with its agent. */
function named(file: string | undefined, define: () => Agent): Agent {
  try {
    return define();
  } catch (error) {
    if (file === undefined || !(error instanceof PawlError)) throw error;
    throw new PawlError(
      error.code,
      error.problems.map((problem) => `${file}: ${problem}`),
      { cause: error },
    );
  }
}

export const defaultAgentName = 'pawl';

/** The definition of the default agent, which can read the current folder. */
export function lookingAround(): AgentDefinition {
  return {
    name: defaultAgentName,
    instructions: 'You answer questions and do small tasks. You may look at the files in the current folder.',
    models: [],
    tools: readingTools(process.cwd()),
    report: { format: 'markdown' },
  };
}

/** Returns the definition with the bound from the flags. */
export function withBound(definition: AgentDefinition, { maxTurns, maxRetries }: Flags): AgentDefinition {
  const limits = { ...(maxTurns !== undefined && { maxTurns }), ...(maxRetries !== undefined && { maxRetries }) };
  // `defineAgent` refuses limits that are not an object.
  const isUnchanged = Object.keys(limits).length === 0 || typeof (definition.limits ?? {}) !== 'object';
  return isUnchanged ? definition : { ...definition, limits: { ...definition.limits, ...limits } };
}
