import type { Message, ToolOutput } from '../../../../../machines/index.ts';
import { tame } from '../../../../platform/text.ts';
import { FileView, Json, Text } from '../../content/content.tsx';

type Part = Message['content'][number];

/** One message of a conversation, part by part. */
export function MessageView({ message, mark, note }: { message: Message; mark: string; note: string }) {
  const sign = mark === 'new' ? '+' : mark === 'gone' ? '−' : '';
  return (
    <div class={`message ${message.role} ${mark}`}>
      <div class="who">
        <span class="sign" title={mark}>
          {sign}
        </span>
        {message.role}
        {note === '' ? null : <i>{note}</i>}
      </div>
      {message.content.map((part, index) => (
        <PartView key={index} part={part} isSaid={message.role === 'assistant'} />
      ))}
    </div>
  );
}

/** A model writes Markdown; anybody else's text is shown as it is. */
function PartView({ part, isSaid }: { part: Part; isSaid: boolean }) {
  switch (part.type) {
    case 'text':
      return <Text text={part.text} kind={isSaid ? 'markdown' : ''} />;
    case 'reasoning':
      return <Text kind="reasoning" text={part.text} />;
    case 'tool-call':
      return (
        <div class="callpart">
          <b>→ {tame(part.toolName)}</b> <Json value={part.input} />
        </div>
      );
    case 'tool-result':
      return (
        <div class="callpart">
          <b>← {tame(part.toolName)}</b> <OutputView output={part.output} />
        </div>
      );
    case 'file':
    case 'reasoning-file':
      return <FileView part={part} />;
    default:
      return <p class="file">{part.type}</p>;
  }
}

/** An answer to a call, as the model reads it. */
export function OutputView({ output }: { output: ToolOutput }) {
  switch (output.type) {
    case 'content':
      return (
        <>
          {output.value.map((part, index) =>
            part.type === 'text' ? <Text key={index} text={part.text} /> : <FileView key={index} part={part} />,
          )}
        </>
      );
    case 'execution-denied':
      return <Json value={output} />;
    default:
      return <Json value={output.value} />;
  }
}
