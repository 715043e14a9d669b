import { randomUUID } from 'node:crypto';
import { defineAgent } from '../agent/define-agent.ts';
import type { Agent, AgentDefinition } from '../agent/definition.ts';
import { unavailableTargets } from '../model/targets.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { Session, SessionResult } from '../session/options.ts';
import { startSession } from '../session/start-session.ts';
import { readAgentFile } from './agent-file.ts';
import { Approver } from './approver.ts';
import type { Flags } from './command-line.ts';
import { exitCodeOf, UsageError } from './command-line.ts';
import { directoryTools } from './directory-tools.ts';
import { commandLogger } from './log.ts';
import { chosenModel } from './models.ts';
import { TerminalView } from './view.ts';

/** `pawl run`: runs the agent in a file, or else a default agent that can read the current folder. */
export async function runCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  const prompt = positionals.join(' ').trim();
  if (prompt === '') throw new UsageError('Missing prompt: pawl run "prompt".');
  const given = flags.agent === undefined ? lookingAround() : await readAgentFile(flags.agent);
  return session(await agentOf(given, flags), prompt, flags);
}

/** Builds an agent from a definition, with the model and the bound from the flags. */
export async function agentOf(given: AgentDefinition, flags: Flags): Promise<Agent> {
  const model = await chosenModel(flags);
  // Only a flag overrides the agent's own models; a key in the environment does not.
  const overrides = flags.model !== undefined || flags.baseUrl !== undefined || (given.models ?? []).length === 0;
  const models = overrides && model !== null ? [model] : (given.models ?? []);
  if (models.length === 0) {
    throw new UsageError(
      'No model is set: pass --model or --base-url, add models to the agent file, or set a key such as OPENAI_API_KEY.',
    );
  }
  // The model of --base-url is made here, so the definition does not hold its key.
  const { OPENAI_API_KEY: key } = process.env;
  const secrets = [...(given.secrets ?? []), ...(flags.baseUrl !== undefined && key !== undefined ? [key] : [])];
  const agent = defineAgent(bounded({ ...given, models, secrets }, flags));
  const missing = unavailableTargets(agent.targets);
  if (missing.length < agent.targets.length) return agent;
  throw new UsageError(missing.map(({ message }) => message).join(' '));
}

function lookingAround(): AgentDefinition {
  return {
    name: 'pawl',
    instructions: 'You answer questions and do small tasks. You may look at the files in the current folder.',
    models: [],
    tools: directoryTools(process.cwd()),
    report: { format: 'markdown' },
  };
}

/** Returns the definition with the bound from the flags. */
export function bounded(definition: AgentDefinition, { maxTurns, maxRetries }: Flags): AgentDefinition {
  const limits = { ...(maxTurns !== undefined && { maxTurns }), ...(maxRetries !== undefined && { maxRetries }) };
  return { ...definition, limits: { ...definition.limits, ...limits } };
}

/** Runs one session in the terminal, with the live view or JSON on stdout and the log on stderr. Ctrl-C aborts it. */
export async function session(agent: Agent, prompt: string, flags: Flags): Promise<number> {
  const view = flags.json ? null : new TerminalView(process.stdout, agent);
  const showsView = view !== null && process.stderr.isTTY === true;
  const logger = commandLogger(flags, showsView ? 'silent' : 'warn');
  const inspector = flags.inspect ? await (await import('../inspect/stately.ts')).statelyInspector() : null;
  if (inspector !== null) process.stderr.write(`Open the inspector in a browser: ${inspector.address}\n`);
  const abort = new AbortController();
  const interrupt = (signal: NodeJS.Signals = 'SIGINT') => abort.abort(interruption(signal));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  const running: { session: Session | null } = { session: null };
  const approver = new Approver((callId, decision) => running.session?.approve(callId, decision), interrupt);
  const onEvent = (event: SessionEvent) => {
    view?.show(event);
    approver.heed(event);
  };
  running.session = startSession(agent, {
    prompt,
    logger,
    signal: abort.signal,
    onEvent,
    sessionId: randomUUID(),
    ...(flags.maxSeconds !== undefined && { budget: { wallClockMs: flags.maxSeconds * 1_000 } }),
    ...(inspector !== null && { inspect: inspector.inspect }),
  });
  view?.watch(running.session.counters);
  const result = await running.session.result;
  if (inspector !== null && process.stderr.isTTY) await keptOpen(inspector.address, abort.signal);
  inspector?.stop();
  process.off('SIGINT', interrupt);
  process.off('SIGTERM', interrupt);
  if (view === null) process.stdout.write(`${JSON.stringify(result)}\n`);
  else view.end(result);
  return exitCodeOf(result satisfies SessionResult);
}

/** Returns the abort reason for a signal. */
export function interruption(signal: NodeJS.Signals): Error {
  return new Error(signal === 'SIGINT' ? 'interrupted at the keyboard' : `ended by ${signal}`);
}

/** Keeps the inspector open until the user presses Ctrl-C. */
async function keptOpen(address: string | null, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  process.stderr.write(`The session has ended. The inspector stays open at ${address}. Press Ctrl-C to close it.\n`);
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
