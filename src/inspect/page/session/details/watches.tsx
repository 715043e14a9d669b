import { useState } from 'preact/hooks';
import { tame } from '../../../../platform/text.ts';
import { seriesValue } from '../../../study/series.ts';
import { Field } from '../../field.tsx';
import type { Store } from '../../store.ts';

/** The numbers that are drawn over the session, and a field for another. */
export function Watches({ store, frame }: { store: Store; frame: number }) {
  const [text, setText] = useState('');
  const [trouble, setTrouble] = useState('');
  const add = (event: Event) => {
    event.preventDefault();
    setTrouble('');
    store.watch(text.trim()).then(
      () => setText(''),
      (error) => setTrouble(String(error.message)),
    );
  };
  return (
    <form class="watches" onSubmit={add}>
      <Field label="Watch an expression" placeholder="counters.requests / counters.turns" value={text} take={setText} />
      <button type="submit">Watch</button>
      {trouble === '' ? null : <p class="fault">{tame(trouble)}</p>}
      {store.watches.map(({ text: watched, series }, index) => (
        <p key={watched} class={`watch color-${index % 3}`}>
          <code>{watched}</code> = {seriesValue(series, frame) ?? '–'}{' '}
          <button
            type="button"
            aria-label={`Stop watching ${watched}`}
            onClick={() => store.set({ watches: store.watches.filter((one) => one.text !== watched) })}
          >
            ✕
          </button>
        </p>
      ))}
    </form>
  );
}
