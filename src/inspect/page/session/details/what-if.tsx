import { useEffect, useState } from 'preact/hooks';
import { tame } from '../../../../platform/text.ts';
import { presetsFor } from '../../../study/presets.ts';
import type { DeliveryChange } from '../../../study/what-if.ts';
import type { LeadingDelivery } from '../../protocol.ts';
import type { Store } from '../../store.ts';

/** What if something else had been delivered here: the machines decide at once, without a model and without a tool. */
export function WhatIfPane({ store, frame }: { store: Store; frame: number }) {
  const [led, setLed] = useState<LeadingDelivery>(null);
  const [text, setText] = useState('');
  const [trouble, setTrouble] = useState('');
  useEffect(() => {
    let isLatest = true;
    const take = (found: LeadingDelivery) => {
      if (!isLatest) return;
      setLed(found);
      setTrouble('');
      setText(found !== null && 'outcome' in found.delivery ? JSON.stringify(found.delivery.outcome, null, 2) : '');
    };
    store.deliveryAt(frame).then(take, (error) => store.set({ failure: String(error.message) }));
    return () => {
      isLatest = false;
    };
  }, [store, frame]);
  if (led === null)
    return <p class="empty">No delivery to the session led to this step. Move to a step that has one.</p>;
  const { entry, delivery } = led;
  const decide = (change: DeliveryChange, name: string) =>
    store.whatIf(change, name).catch((error) => setTrouble(String(error.message)));
  const edited = (event: Event) => {
    event.preventDefault();
    try {
      const outcome = JSON.parse(text);
      if ('outcome' in delivery) void decide({ entry, delivery: { ...delivery, outcome } }, `${delivery.key} changed`);
    } catch (error) {
      setTrouble(`Not valid JSON: ${String(error)}`);
    }
  };
  const name = 'event' in delivery ? delivery.event.type : delivery.key;
  return (
    <>
      <h2>Replace {tame(name)} with</h2>
      <div class="presets">
        {presetsFor(delivery).map((preset) => (
          <button
            key={preset.name}
            type="button"
            onClick={() => decide({ entry, delivery: preset.delivery }, `${name}: ${preset.name}`)}
          >
            {preset.name}
          </button>
        ))}
      </div>
      {text === '' ? null : (
        <form onSubmit={edited}>
          <label for="outcome">or this:</label>
          <textarea
            id="outcome"
            rows={18}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit">Apply</button>
        </form>
      )}
      {trouble === '' ? null : <p class="fault">{tame(trouble)}</p>}
      <p class="hint">
        The machines decide immediately. Later recorded results are delivered if the machines still request them;
        requests with no recorded result stay pending.
      </p>
    </>
  );
}
