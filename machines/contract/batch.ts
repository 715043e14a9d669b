import type { FilePart, TextPart, ToolOutput } from './conversation.ts';

/** The answer to one call in a batch. */
export type InnerAnswer = { name: string; success: boolean; output: ToolOutput };

/** Builds the answer to a batch from the answers to its calls, in order (T-2). */
export function batchOutput(answers: readonly InnerAnswer[]): ToolOutput {
  const value = answers.flatMap((answer, index): (TextPart | FilePart)[] => {
    const heading = `[${index}] ${answer.name}: ${answer.success ? 'succeeded' : 'failed'}`;
    const { output } = answer;
    if (output.type === 'content') return [{ type: 'text', text: heading }, ...output.value];
    return [{ type: 'text', text: `${heading}\n${outputText(output)}` }];
  });
  const isText = value.every((part) => part.type === 'text');
  if (!isText) return { type: 'content', value };
  return { type: 'text', value: value.map((part) => (part.type === 'text' ? part.text : '')).join('\n\n') };
}

/** Returns an output as text; a file is only mentioned. */
export function outputText(output: ToolOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return output.reason === undefined ? 'Denied.' : `Denied: ${output.reason}`;
    case 'content':
      return output.value.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`)).join('\n');
    default:
      return output satisfies never;
  }
}
