import { styleText } from 'node:util';
import type { Agent } from '../../agent/definition.ts';
import { reasonOf } from '../../input/errors.ts';
import type { Asked } from './approver.ts';
import { clipPainted, shownLine } from './text.ts';

/** What a person sees of a call before the decision, such as a diff, as lines; none if its tool has no preview. */
export async function previewOf(agent: Agent, call: Asked, out: NodeJS.WriteStream): Promise<string[]> {
  const preview = agentNamed(agent, call.agent)?.tools.get(call.name)?.preview;
  if (preview === undefined) return [];
  const text = await preview(call.input).catch((error) => `What it would do cannot be shown: ${reasonOf(error)}`);
  return text.split('\n').map((line) => {
    const shown = shownLine(line);
    const cut = out.isTTY === true ? clipPainted(shown, out.columns) : shown;
    const style = { '+': 'green', '-': 'red', '@': 'cyan' } as const;
    const mark = line[0];
    return mark === '+' || mark === '-' || mark === '@' ? styleText(style[mark], cut, { stream: out }) : cut;
  });
}

/** The agent of a tree that has this name. */
function agentNamed(agent: Agent, name: string): Agent | null {
  if (agent.name === name) return agent;
  for (const below of Object.values(agent.agents)) {
    const found = agentNamed(below, name);
    if (found !== null) return found;
  }
  return null;
}
