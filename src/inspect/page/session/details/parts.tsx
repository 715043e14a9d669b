import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Message } from '../../../../../machines/index.ts';
import { tame } from '../../../../platform/text.ts';

/** Characters of a text that are shown before one asks for the rest. */
const longest = 3_000;

/** A text as it is, cut with a word about it. */
export function Text({ text, kind = '' }: { text: string; kind?: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > longest;
  return (
    <div class={`text ${kind}`}>
      {tame(isCut ? text.slice(0, longest) : text)}
      {isCut ? (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {`… show all ${text.length.toLocaleString('en')} characters`}
        </button>
      ) : null}
    </div>
  );
}

/** What is there only once one asks for it: a closed part of a long session would hold thousands of elements. */
export function Fold({
  title,
  isOpen = false,
  children,
}: {
  title: string;
  isOpen?: boolean;
  children: () => ComponentChildren;
}) {
  const [opened, setOpened] = useState(isOpen);
  return (
    <details open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>{title}</summary>
      {opened ? children() : null}
    </details>
  );
}

export function Json({ value }: { value: unknown }) {
  return (
    <Text kind="json" text={typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined')} />
  );
}

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
        <PartView key={index} part={part} />
      ))}
    </div>
  );
}

function PartView({ part }: { part: Part }) {
  switch (part.type) {
    case 'text':
      return <Text text={part.text} />;
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
          <b>← {tame(part.toolName)}</b> <Json value={'value' in part.output ? part.output.value : part.output} />
        </div>
      );
    default:
      return <Text kind="file" text={'mediaType' in part ? `${part.type} (${part.mediaType})` : part.type} />;
  }
}
