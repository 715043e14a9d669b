import { randomUUID } from 'node:crypto';
import type { Agent, AgentDefinition } from '../agent-definition.ts';
import { defineAgent } from '../define-agent.ts';
import type { SessionEvent } from '../observe/events.ts';
import { stderrLogger } from '../observe/log.ts';
import type { Session, SessionResult } from '../session.ts';
import { startSession } from '../start-session.ts';
import { readAgentFile } from './agent-file.ts';
import { Approver } from './approver.ts';
import { directoryTools } from './directory-tools.ts';
import { exitCodeOf, type Flags, UsageError } from './exit.ts';
import { chosenModel } from './models.ts';
import { TerminalView } from './view.ts';

/** `pawl run`: the agent of a file, or one that may look around in this folder. */
export async function runCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  const prompt = positionals.join(' ').trim();
  if (prompt === '') throw new UsageError('A prompt is needed: pawl run "prompt".');
  const given = flags.agent === undefined ? lookingAround() : await readAgentFile(flags.agent);
  return session(await agentOf(given, flags), prompt, flags);
}

/** The agent of a definition, with the model and the bound that the flags ask for. */
export async function agentOf(given: AgentDefinition, flags: Flags): Promise<Agent> {
  const model = await chosenModel(flags);
  // The agent's own models stand, unless a flag names another; a key in the environment alone does not override them.
  const overrides = flags.model !== undefined || flags.baseUrl !== undefined || (given.models ?? []).length === 0;
  const models = overrides && model !== null ? [model] : (given.models ?? []);
  if (models.length === 0) {
    throw new UsageError(
      'No model is named: set --model, --base-url, models in the agent file, or a key such as OPENAI_API_KEY.',
    );
  }
  return defineAgent(bounded({ ...given, models }, flags));
}

function lookingAround(): AgentDefinition {
  return {
    name: 'pawl',
    instructions: 'You answer questions and do small tasks. You may look at the files of the current folder.',
    models: [],
    tools: directoryTools(process.cwd()),
    report: { format: 'markdown' },
  };
}

/** The definition with the bound that the flags ask for. */
export function bounded(definition: AgentDefinition, { maxTurns, maxRetries }: Flags): AgentDefinition {
  const limits = { ...(maxTurns !== undefined && { maxTurns }), ...(maxRetries !== undefined && { maxRetries }) };
  return { ...definition, limits: { ...definition.limits, ...limits } };
}

/** Runs one session in the terminal: the live view or JSON on stdout, the log on stderr, Ctrl-C aborts. */
export async function session(agent: Agent, prompt: string, flags: Flags): Promise<number> {
  const view = flags.json ? null : new TerminalView(process.stdout, agent);
  const showsView = view !== null && process.stderr.isTTY === true;
  const logger = stderrLogger(flags.logLevel ?? (showsView ? 'silent' : 'warn'));
  const inspector = flags.inspect ? await (await import('../inspect/stately.ts')).statelyInspector() : null;
  if (inspector !== null) process.stderr.write(`The inspector is at ${inspector.address}: open it in a browser.\n`);
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

/** Why a signal ends the command. */
export function interruption(signal: NodeJS.Signals): Error {
  return new Error(signal === 'SIGINT' ? 'interrupted at the keyboard' : `ended by ${signal}`);
}

/** On a terminal the inspector stays until somebody has looked. */
async function keptOpen(address: string | null, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  process.stderr.write(`The session has ended. The inspector stays at ${address}: Ctrl-C ends it.\n`);
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
