import { useState } from 'preact/hooks';
import { isUnifiedDiff } from '../../../platform/markdown.ts';
import { tame } from '../../../platform/text.ts';
import { Diff } from './diff.tsx';
import { Markdown } from './markdown.tsx';

/** Characters of a text that are shown before one asks for the rest. */
const longest = 3_000;

/** A text as it is, or a change with its lines in colours; cut with a word about it. */
export function Prose({ text, kind = '' }: { text: string; kind?: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > longest;
  const shown = tame(isCut ? text.slice(0, longest) : text);
  return (
    <div class={`text ${kind}`}>
      {kind === 'markdown' ? <Markdown text={shown} /> : isUnifiedDiff(shown) ? <Diff text={shown} /> : shown}
      {isCut ? (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {`… show all ${text.length.toLocaleString('en')} characters`}
        </button>
      ) : null}
    </div>
  );
}
