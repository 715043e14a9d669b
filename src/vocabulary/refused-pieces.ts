import type { FilePart, Message, RefusedPiece, TextPart, ToolOutput } from '../../machines/index.ts';

const refusedText = (what: string) => `[${what} was left out, because the model's provider refused it.]`;

/** Returns the messages with a stub in place of a piece that a provider refused (P-2); those without it stay the same. */
export function withoutPiece(messages: readonly Message[], piece: RefusedPiece): Message[] {
  switch (piece.kind) {
    case 'result':
      return messages.map((message) => withoutResult(message, piece.callId));
    case 'file':
      return messages.map((message, index) => (index === piece.message ? withoutFile(message, piece.part) : message));
    case 'files':
      return messages.map(withoutFiles);
    case 'schema':
      return [...messages];
    default:
      return piece satisfies never;
  }
}

function withoutResult(message: Message, callId: string): Message {
  if (message.role !== 'tool' || !message.content.some(({ toolCallId }) => toolCallId === callId)) return message;
  return {
    ...message,
    content: message.content.map((part) =>
      part.toolCallId === callId ? { ...part, output: stubFor(part.output) } : part,
    ),
  };
}

/** Returns the stub for a result. Of one with files, only the files are left out: they are what providers refuse. */
function stubFor(output: ToolOutput): ToolOutput {
  if (output.type === 'content' && output.value.some(({ type }) => type === 'file')) return outputWithoutFiles(output);
  return { type: 'text', value: refusedText('This result') };
}

function outputWithoutFiles(output: ToolOutput): ToolOutput {
  if (output.type !== 'content') return output;
  return { ...output, value: output.value.map((part) => (part.type === 'file' ? stub(part) : part)) };
}

function withoutFile(message: Message, at: number): Message {
  const content = message.content.map((part, index) => (index === at && part.type === 'file' ? stub(part) : part));
  return { ...message, content } as Message;
}

function withoutFiles(message: Message): Message {
  if (message.role === 'tool') {
    return {
      ...message,
      content: message.content.map((part) => ({ ...part, output: outputWithoutFiles(part.output) })),
    };
  }
  return { ...message, content: message.content.map((part) => (part.type === 'file' ? stub(part) : part)) } as Message;
}

function stub({ mediaType, filename }: FilePart): TextPart {
  return { type: 'text', text: refusedText(filename === undefined ? `A file (${mediaType})` : `The file ${filename}`) };
}

/** Names a piece of a request that a provider refused. */
export function pieceName(piece: RefusedPiece): string {
  switch (piece.kind) {
    case 'result':
      return `the result of call ${piece.callId}`;
    case 'file':
      return `a file of message ${piece.message + 1}`;
    case 'files':
      return 'all files';
    case 'schema':
      return `the schema of ${piece.tool}`;
    default:
      return piece satisfies never;
  }
}
