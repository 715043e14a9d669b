/** How much a key moves it, and the least width of a pane, in px. */
const stepPx = 24;
const leastPx = 200;

type Props = { label: string; side: 'left' | 'right'; width: number | null; set: (width: number) => void };

/** The line between two panes, which changes the width of the one on its side: by dragging, or with the arrow keys. */
export function Splitter({ label, side, width, set }: Props) {
  const take = (line: Element, wanted: number) => {
    const whole = line.parentElement?.clientWidth ?? 0;
    set(Math.round(Math.max(leastPx, Math.min(wanted, whole - 2 * leastPx))));
  };
  const widthOf = (line: Element) =>
    (side === 'left' ? line.previousElementSibling : line.nextElementSibling)?.clientWidth ?? 0;
  return (
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width ?? 0}
      tabindex={0}
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
