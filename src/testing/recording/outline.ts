import type { Message } from '../../../machines/index.ts';
import type { SdkCall, SdkPrompt } from '../../model/sdk-model.ts';
import { inOrder } from '../../platform/plain-json.ts';
import { redact } from '../../secrets/redact.ts';
import type { SentRequest } from '../../session/replay/replayed.ts';

/**
 * What a request says, line by line, so that two can be compared and their difference be read: the settings, the tools, and
 * the messages without ids, reasoning and cache marks.
 */
export type Outline = readonly string[];

type AnyPart = { type: string } & Record<string, unknown>;
type AnyMessage = { role: string; content: string | readonly AnyPart[] };

/** Returns the outline of a request as a model gets it. */
export function outlineOfCall(call: SdkCall): Outline {
  const { prompt, tools = [], toolChoice: _, abortSignal: __, headers: ___, providerOptions: ____, ...settings } = call;
  const { includeRawChunks: _____, responseFormat: ______, ...own } = settings;
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  return clean([
    ...(Object.keys(given).length === 0 ? [] : [`settings ${json(given)}`]),
    ...tools.map(toolLine),
    ...messageLines(prompt as SdkPrompt as readonly AnyMessage[]),
  ]);
}

/** Returns the outline of a recorded request; its journal says nothing of settings. */
export function outlineOfSent({ instructions, messages, notice, tools }: SentRequest): Outline {
  const all: AnyMessage[] = [
    ...(instructions === null || instructions === '' ? [] : [{ role: 'system', content: instructions }]),
    ...(messages as readonly Message[] as readonly AnyMessage[]),
    ...(notice === null ? [] : [{ role: 'user', content: notice }]),
  ];
  return clean([...tools.map(toolLine), ...messageLines(all)]);
}

/** Returns where two outlines first differ, in words; null if they are the same. `settings` of only one are no difference. */
export function differenceOf(recorded: Outline, now: Outline): string | null {
  const isBoth = [recorded, now].every((lines) => lines.some((line) => line.startsWith('settings ')));
  const [one, other] = [recorded, now].map((lines) =>
    isBoth ? lines : lines.filter((line) => !line.startsWith('settings ')),
  ) as [Outline, Outline];
  const at = Array.from({ length: Math.max(one.length, other.length) }, (_, index) => index).find(
    (index) => one[index] !== other[index],
  );
  if (at === undefined) return null;
  const shown = (line: string | undefined) =>
    line === undefined ? 'nothing' : clipped(line, one[at] ?? '', other[at] ?? '');
  return `line ${at + 1} was recorded as ${shown(one[at])}, and is ${shown(other[at])}`;
}

/** Shows a line from a little before the place where two begin to differ. */
function clipped(line: string, one: string, other: string): string {
  let same = 0;
  while (same < Math.min(one.length, other.length) && one[same] === other[same]) same += 1;
  const from = same > 60 ? same - 40 : 0;
  const text = line.slice(from, from + 200);
  return JSON.stringify(`${from > 0 ? '…' : ''}${text}${from + 200 < line.length ? '…' : ''}`);
}

function toolLine(tool: object): string {
  const { name, description, inputSchema, id } = { name: '', description: '', inputSchema: null, id: null, ...tool };
  return `tool ${name} ${json({ description, inputSchema, id })}`;
}

function messageLines(messages: readonly AnyMessage[]): string[] {
  return messages.flatMap(({ role, content }) =>
    typeof content === 'string' ? [`${role}: ${content}`] : content.flatMap((part) => partLines(role, part)),
  );
}

function partLines(role: string, part: AnyPart): string[] {
  switch (part.type) {
    case 'text':
      return String(part.text).trim() === '' ? [] : [`${role}: ${part.text}`];
    case 'tool-call':
      return part.providerExecuted === true ? [] : [`call ${part.toolName} ${json(part.input)}`];
    case 'tool-result':
      return role === 'tool' ? [`result ${part.toolName} ${json(part.output)}`] : [];
    case 'file':
      return [`${role}: a file of ${part.mediaType}`];
    default:
      return [];
  }
}

/** Without what providers note. */
const json = (value: unknown): string =>
  JSON.stringify(value, (key, one) => (key === 'providerOptions' ? undefined : inOrder(key, one))) ?? 'nothing';

const clean = (lines: readonly string[]): Outline => lines.map((line) => redact(line));
