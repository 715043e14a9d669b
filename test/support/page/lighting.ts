import { light } from '../../../src/inspect/page/drawing/lighting.ts';
import type { Pictures } from '../../../src/inspect/recorded/pictures.ts';

const escaped = (text: string) => text.replaceAll('-', '&#45;').replaceAll('>', '&gt;');

/** Lights each arrow of the machines, and returns the names of those whose line, text or states stay dark. */
export function darkArrows(pictures: Pictures): string[] {
  return Object.entries(pictures.arrows).flatMap(([name, arrow]) => {
    const drawing =
      Object.entries(pictures.drawings).find(
        ([, svg]) =>
          svg.includes(escaped(`arrow-${arrow.machine}-${arrow.number}"`)) ||
          svg.includes(escaped(`edge-${arrow.source}-${arrow.target}"`)),
      )?.[1] ?? '';
    const parsed = new DOMParser().parseFromString(drawing, 'image/svg+xml').documentElement;
    if (!(parsed instanceof SVGSVGElement)) return [`${name}: no drawing`];
    document.body.replaceChildren(parsed);
    const states = [arrow.source, ...(arrow.target === null ? [] : [arrow.target])];
    const actors = states.map((state, frame) => ({ states: [state], isActive: true, frame }));
    light(parsed, pictures, actors, [name]);
    const lit = [...parsed.querySelectorAll('.lit')].map(({ id }) => id);
    // The machine itself has no box: what leads out of it is drawn in a note of its own.
    const isLit = states.every((state) => !state.includes('.') || lit.includes(`state-${state}`));
    const taken = [...parsed.querySelectorAll('.taken')];
    return isLit && taken.length > 0 ? [] : [name];
  });
}
