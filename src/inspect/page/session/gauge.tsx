import type { Moment } from '../../recorded/shown-recording.ts';
import { type GaugeBox, gaugeAt } from '../../study/gauge.ts';
import type { Store } from '../store.ts';

/** Above so many requests, the bound is a bar of parts instead of a row of boxes. */
const mostBoxes = 64;

const words: Record<GaugeBox, string> = {
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  free: 'may still be sent',
  taken: 'removed by a collapse (B-4)',
};

/** The bound: what was sent of it, what failed, and what a collapse took away. */
export function BoundGauge({ store, moment }: { store: Store; moment: Moment }) {
  const { requests, bound, boxes } = gaugeAt(store.recorded, moment.told);
  const text = `requests ${requests} of ${bound}`;
  const tree = store.recorded.countersAt(moment.told).get('tree.requests') ?? requests;
  return (
    <div class="gauge">
      <span class="gaugetext">{text}</span>
      <span
        role="meter"
        aria-label="Requests used, out of the bound"
        aria-valuemin={0}
        aria-valuemax={bound}
        aria-valuenow={requests}
        aria-valuetext={text}
        class="boxes"
      >
        {boxes.length <= mostBoxes ? boxes.map(box) : <Bar boxes={boxes} />}
      </span>
      {tree === requests ? null : <span class="hint">{tree} in the tree</span>}
    </div>
  );
}

function box(kind: GaugeBox, index: number) {
  return <i key={index} class={`box ${kind}`} title={`request ${index + 1}: ${words[kind]}`} />;
}

function Bar({ boxes }: { boxes: readonly GaugeBox[] }) {
  const kinds: GaugeBox[] = ['succeeded', 'failed', 'running', 'free', 'taken'];
  return (
    <span class="bar">
      {kinds.map((kind) => {
        const count = boxes.filter((one) => one === kind).length;
        const width = `${(100 * count) / boxes.length}%`;
        return count === 0 ? null : (
          <i key={kind} class={`part ${kind}`} style={{ width }} title={`${count} ${words[kind]}`} />
        );
      })}
    </span>
  );
}
