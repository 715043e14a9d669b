import { arrowId, edgeId, stateId } from '../../recorded/picture-ids.ts';
import type { Pictures } from '../../recorded/pictures.ts';
import type { Actor } from '../../recorded/shown-recording.ts';

/**
 * Lights the states of some machines of one kind, and the arrows that were taken. Returns the element to be in view: the
 * innermost state of the machine that moved last.
 */
export function light(
  drawing: SVGSVGElement,
  pictures: Pictures,
  actors: readonly Pick<Actor, 'states' | 'isActive' | 'frame'>[],
  arrows: readonly string[],
): Element | null {
  for (const was of drawing.querySelectorAll('.lit, .past, .taken')) was.classList.remove('lit', 'past', 'taken');
  for (const was of drawing.querySelectorAll('.count')) was.remove();
  let seen: Element | null = null;
  const counts = new Map<Element, number>();
  for (const { states, isActive } of [...actors].sort((one, other) => one.frame - other.frame)) {
    for (const state of [...states].sort((one, other) => one.length - other.length)) {
      const element = drawing.querySelector(`#${CSS.escape(stateId(state))}`);
      if (element === null) continue;
      element.classList.add(isActive ? 'lit' : 'past');
      counts.set(element, (counts.get(element) ?? 0) + 1);
      seen = element;
    }
  }
  for (const [element, count] of counts) if (count > 1) tally(element, count);
  for (const name of arrows) {
    const arrow = pictures.arrows[name];
    if (arrow === undefined) continue;
    const text = drawing.querySelector(`#${CSS.escape(arrowId(arrow.machine, arrow.number))}`);
    const edge = drawing.querySelector(`#${CSS.escape(edgeId(arrow.source, arrow.target))}`);
    text?.classList.add('taken');
    edge?.classList.add('taken');
  }
  return seen;
}

/** Writes how many machines are in a state. */
function tally(element: Element, count: number): void {
  if (!(element instanceof SVGGraphicsElement)) return;
  const { x, y, width } = element.getBBox();
  const text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
  text.setAttribute('class', 'count');
  text.setAttribute('x', String(x + width - 8));
  text.setAttribute('y', String(y + 16));
  text.textContent = `×${count}`;
  element.append(text);
}
