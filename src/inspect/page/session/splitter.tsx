import { useLayoutEffect, useRef } from 'preact/hooks';

/** How much a key moves it, and the least width of a pane, in px. */
const stepPx = 24;
const leastPx = 200;

type Props = { label: string; side: 'left' | 'right'; set: (width: number) => void };

/** The line between two panes, which changes the width of the one on its side: by dragging, or with the arrow keys. */
export function Splitter({ label, side, set }: Props) {
  const own = useRef<HTMLDivElement>(null);
  const widthOf = (line: Element) =>
    (side === 'left' ? line.previousElementSibling : line.nextElementSibling)?.clientWidth ?? 0;
  /** What is left once the pane between has its least width, and the other outer one stays as it is. */
  const mostOf = (line: Element) => {
    const middle = side === 'left' ? line.nextElementSibling : line.previousElementSibling;
    return Math.max(leastPx, widthOf(line) + (middle?.clientWidth ?? 0) - leastPx);
  };
  const take = (line: Element, wanted: number) => set(Math.round(Math.max(leastPx, Math.min(wanted, mostOf(line)))));
  const measure = () => {
    const line = own.current;
    if (line === null) return;
    line.setAttribute('aria-valuemin', String(leastPx));
    line.setAttribute('aria-valuemax', String(Math.round(mostOf(line))));
    line.setAttribute('aria-valuenow', String(Math.round(widthOf(line))));
  };
  useLayoutEffect(measure);
  return (
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={0}
      tabindex={0}
      ref={own}
      onFocus={measure}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (event.buttons !== 1) return;
        const { left = 0, right = 0 } = event.currentTarget.parentElement?.getBoundingClientRect() ?? {};
        take(event.currentTarget, side === 'left' ? event.clientX - left : right - event.clientX);
      }}
      onKeyDown={(event) => {
        const moves = { ArrowLeft: -stepPx, ArrowRight: stepPx }[event.key];
        if (moves === undefined) return;
        // These keys move by step elsewhere.
        event.preventDefault();
        event.stopPropagation();
        take(event.currentTarget, widthOf(event.currentTarget) + (side === 'left' ? moves : -moves));
      }}
    />
  );
}
