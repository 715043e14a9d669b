import type { Agent } from '../../agent/definition.ts';
import { narrowed } from '../../agent/narrow.ts';
import { PawlError } from '../../input/errors.ts';
import type { SessionHead } from '../../journal/journal.ts';
import { checkAgent } from '../head.ts';

/** For models that have another name now: the name of today, by the recorded one. */
export type RenamedModels = Readonly<Record<string, string>>;

/**
 * Returns the agent as a recorded session has it: with its models and in their order, under the recorded names, and as the
 * session had narrowed it. Throws `agent_changed`, with every difference, if what was recorded is no longer true of it (D-6).
 */
export function agentAsRecorded<Report>(
  given: Agent<Report>,
  head: SessionHead,
  renamed: RenamedModels = {},
): Agent<Report> {
  const named = withRecordedNames(given, renamed);
  const agent = asNarrowed(named, head);
  checkAgent(agent, head);
  const targets = head.input.targets.flatMap((name) => agent.targets.find((target) => target.name === name) ?? []);
  return Object.freeze({ ...agent, targets });
}

function withRecordedNames<Report>(agent: Agent<Report>, renamed: RenamedModels): Agent<Report> {
  const recorded = new Map(Object.entries(renamed).map(([was, is]) => [is, was]));
  if (recorded.size === 0) return agent;
  const nameOf = (name: string) => recorded.get(name) ?? name;
  return Object.freeze({
    ...agent,
    targets: agent.targets.map((target) => target.named(nameOf(target.name))),
    pricing: Object.fromEntries(Object.entries(agent.pricing).map(([name, price]) => [nameOf(name), price])),
    voices: agent.voices.map((voice) => ({
      ...voice,
      targets: new Map([...voice.targets].map(([own, name]) => [own, nameOf(name)])),
    })),
  });
}

function asNarrowed<Report>(given: Agent<Report>, { overrides, sessionId }: SessionHead): Agent<Report> {
  try {
    return narrowed(given, overrides);
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== 'invalid_options') throw error;
    const message = `The agent ${given.name} no longer has what the session ${sessionId} was narrowed to`;
    throw new PawlError(
      'agent_changed',
      error.problems.map((problem) => `${message}: ${problem}`),
      { cause: error },
    );
  }
}
