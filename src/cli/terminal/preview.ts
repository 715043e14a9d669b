import { styleText } from 'node:util';
import { callPreview } from '../../agent/call-preview.ts';
import type { Agent } from '../../agent/definition.ts';
import type { Asked } from './approver.ts';
import { clipPainted, shownLine } from './text.ts';

/** What a person sees of a call before the decision, such as a diff, as lines; none if its tool has no preview. */
export async function previewOf(
  agent: Agent,
  call: Asked,
  out: NodeJS.WriteStream,
  withdrawn: AbortSignal,
): Promise<string[]> {
  const text = await callPreview(agent, call, withdrawn);
  return text === null ? [] : text.split('\n').map((line) => painted(line, out));
}

function painted(line: string, out: NodeJS.WriteStream): string {
  const shown = shownLine(line);
  const cut = out.isTTY === true ? clipPainted(shown, out.columns) : shown;
  const style = { '+': 'green', '-': 'red', '@': 'cyan' } as const;
  const mark = line[0];
  return mark === '+' || mark === '-' || mark === '@' ? styleText(style[mark], cut, { stream: out }) : cut;
}
