import { sleep, systemClock } from '../host/clock.ts';
import { reasonOf } from '../input/errors.ts';
import type { Agent } from './definition.ts';

/** How long a tool may take to say what a call would do, in ms. */
const previewMs = 5_000;

/** A call of an agent, or of the sub-agent that the tool names in `path` lead to. */
export type PreviewedCall = { path: readonly string[]; name: string; input: unknown };

/** Returns what a call would do, such as a diff, in the words of its tool; null if its tool has no preview. */
export async function callPreview(
  agent: Agent,
  { path, name, input }: PreviewedCall,
  withdrawn: AbortSignal,
): Promise<string | null> {
  const preview = agentAt(agent, path)?.tools.get(name)?.preview;
  if (preview === undefined || withdrawn.aborted) return null;
  const over = new AbortController();
  const late = sleep(systemClock, previewMs, AbortSignal.any([withdrawn, over.signal]));
  const shown = preview(input).catch((error) => `What it would do cannot be shown: ${reasonOf(error)}`);
  const text = await Promise.race([shown, late.then(() => 'What it would do is not known: its tool did not say.')]);
  over.abort();
  return text;
}

/** The sub-agent at the end of a path of tool names. */
export function agentAt(agent: Agent, path: readonly string[]): Agent | null {
  let at: Agent | undefined = agent;
  for (const name of path) at = at !== undefined && Object.hasOwn(at.agents, name) ? at.agents[name] : undefined;
  return at ?? null;
}
