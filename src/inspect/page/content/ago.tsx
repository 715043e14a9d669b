import { useEffect, useState } from 'preact/hooks';
import { systemClock } from '../../../host/clock.ts';
import { ago, clock } from '../text.ts';

const tickMs = 10_000;

/** How long ago something was, as time goes on. */
export function Ago({ at }: { at: number }) {
  const [ticks, setTicks] = useState(0);
  useEffect(() => systemClock.alarm(tickMs, () => setTicks(ticks + 1)), [ticks]);
  return <span title={clock(at)}>{ago(at)}</span>;
}
