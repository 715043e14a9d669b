import { useState } from 'preact/hooks';
import { valueAt } from '../../study/series.ts';
import type { Store } from '../store.ts';
import { tamed } from '../text.ts';

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
      <input
        type="text"
        aria-label="Watch an expression"
        placeholder="counters.requests / counters.turns"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit">Watch</button>
      {trouble === '' ? null : <p class="fault">{tamed(trouble)}</p>}
      {store.watches.map(({ text: watched, series }, index) => (
        <p key={watched} class={`watch color-${index % 3}`}>
          <code>{watched}</code> = {valueAt(series, frame) ?? '–'}{' '}
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
