import type { FilePart, TextPart, ToolResultPart, UserMessage } from '../../../machines/index.ts';

/**
 * The SDK's names of providers whose tool messages carry pictures and files as such. The tool message of any other is a
 * text, into which the SDK would write a file as base64 (T-6b).
 */
const carrying = /(?:^|\.)(?:anthropic|google|vertex|amazon-bedrock|gateway)(?:\.|$)|^(?:openai|azure)\.responses$/;

/** Whether the tool messages of a provider carry files. */
export function carriesToolFiles(provider: string): boolean {
  return carrying.test(provider);
}

/**
 * Returns the answers to the calls of a reply with their files left out, and the message that holds the files: it follows
 * the answers, and stays in every later prompt. Null if they have no files.
 */
export function withFilesApart(answers: readonly ToolResultPart[]): {
  answers: ToolResultPart[];
  files: UserMessage | null;
} {
  const moved: (TextPart | FilePart)[] = [];
  let count = 0;
  const texts = answers.map((answer): ToolResultPart => {
    if (answer.output.type !== 'content' || answer.output.value.every(({ type }) => type === 'text')) return answer;
    const said = answer.output.value.map((piece) => {
      if (piece.type === 'text') return piece.text;
      if (piece.data.type === 'text') return piece.data.text;
      count += 1;
      const heading = `File ${count}, of the result of call ${answer.toolCallId} (${answer.toolName}):`;
      moved.push({ type: 'text', text: heading }, piece);
      return `[${piece.mediaType}: file ${count} of the message after the results]`;
    });
    return { ...answer, output: { type: 'text', value: said.join('\n') } };
  });
  return { answers: texts, files: moved.length === 0 ? null : { role: 'user', content: moved } };
}
