import { styleText } from 'node:util';
import type { Agent } from '../../agent/definition.ts';
import { sleep, systemClock } from '../../host/clock.ts';
import { reasonOf } from '../../input/errors.ts';
import type { Asked } from './approver.ts';
import { clipPainted, shownLine } from './text.ts';

/** How long a tool may take to say what a call would do, in ms. */
const previewMs = 5_000;

/** What a person sees of a call before the decision, such as a diff, as lines; none if its tool has no preview. */
export async function previewOf(
  agent: Agent,
  call: Asked,
  out: NodeJS.WriteStream,
  withdrawn: AbortSignal,
): Promise<string[]> {
  const preview = agentAt(agent, call.path)?.tools.get(call.name)?.preview;
  if (preview === undefined || withdrawn.aborted) return [];
  const over = new AbortController();
  const late = sleep(systemClock, previewMs, AbortSignal.any([withdrawn, over.signal]));
  const shown = preview(call.input).catch((error) => `What it would do cannot be shown: ${reasonOf(error)}`);
  const text = await Promise.race([shown, late.then(() => 'What it would do is not known: its tool did not say.')]);
  over.abort();
  return text.split('\n').map((line) => painted(line, out));
}

function painted(line: string, out: NodeJS.WriteStream): string {
  const shown = shownLine(line);
  const cut = out.isTTY === true ? clipPainted(shown, out.columns) : shown;
  const style = { '+': 'green', '-': 'red', '@': 'cyan' } as const;
  const mark = line[0];
  return mark === '+' || mark === '-' || mark === '@' ? styleText(style[mark], cut, { stream: out }) : cut;
}

/** The sub-agent at the end of a path of tool names. */
function agentAt(agent: Agent, path: readonly string[]): Agent | null {
  let at: Agent | undefined = agent;
  for (const name of path) at = at !== undefined && Object.hasOwn(at.agents, name) ? at.agents[name] : undefined;
  return at ?? null;
}
