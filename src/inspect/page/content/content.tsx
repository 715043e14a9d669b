import { useMemo, useState } from 'preact/hooks';
import type { FilePart } from '../../../../machines/index.ts';
import { tame } from '../../../platform/text.ts';
import { Copy } from './copy.tsx';
import { heldJson } from './held-json.ts';
import { JsonTree } from './json.tsx';
import { Prose } from './prose.tsx';

/** A text that can be copied; `markdown` can also be seen as it was written. */
export function Text({ text, kind = '' }: { text: string; kind?: string }) {
  const [isRaw, setRaw] = useState(false);
  return (
    <div class="block">
      <div class="tools">
        {kind === 'markdown' ? (
          <button type="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            raw
          </button>
        ) : null}
        <Copy text={() => text} />
      </div>
      <Prose text={text} kind={isRaw ? '' : kind} />
    </div>
  );
}

/** A value as a tree, or as the JSON that it is. A text that holds JSON is shown as its value. */
export function Json({ value }: { value: unknown }) {
  const [isRaw, setRaw] = useState(false);
  const held = useMemo(() => (typeof value === 'string' ? heldJson(value) : value), [value]);
  if (typeof held === 'string') return <Text text={held} />;
  const text = () => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined'));
  return (
    <div class="block">
      <div class="tools">
        <button type="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          raw
        </button>
        <Copy text={text} />
      </div>
      {isRaw ? <Prose kind="json" text={text()} /> : <JsonTree value={held} />}
    </div>
  );
}

const pictures = /^image\/(?:png|jpeg|gif|webp|avif)$/;

/** A file of a message: a picture that the message holds is shown; one at an address is named, and not loaded. */
export function FileView({ part: { mediaType, data, filename = '' } }: { part: Omit<FilePart, 'type'> }) {
  const name = `${filename === '' ? '' : `${tame(filename)}, `}${tame(mediaType)}`;
  switch (data.type) {
    case 'text':
      return (
        <>
          <div class="who">{name}</div>
          <Text text={data.text} />
        </>
      );
    case 'url':
      return <p class="file">{`${name}: ${tame(data.url)}`}</p>;
    default:
      return (
        <figure class="file">
          {pictures.test(mediaType) ? <img src={`data:${mediaType};base64,${data.data}`} alt={name} /> : null}
          <figcaption>{`${name}, ${Math.round((data.data.length * 3) / 4).toLocaleString('en')} bytes`}</figcaption>
        </figure>
      );
  }
}
