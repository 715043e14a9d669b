import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, createActor, createMachine, fromCallback } from 'xstate';
import { drawings, machines, partsOf } from '../graph/drawing.ts';

it('the diagrams, tables and configurations are up to date (npm run draw)', () => {
  const said = execFileSync(process.execPath, ['scripts/draw/main.ts', '--check'], { encoding: 'utf8' });
  expect(said).toBe('All pictures are up to date.\n');
  const names = drawings().flatMap((drawing) => [
    ...new Set([...partsOf(drawing).map(({ name }) => `${name}.svg`), `${drawing.name}.svg`]),
    ...['json', 'mmd', 'table.md'].map((end) => `${drawing.name}.${end}`),
  ]);
  expect(readdirSync('visualizations').toSorted()).toEqual(
    [...names, 'floors.svg', 'nested.svg', 'session-overview.svg'].toSorted(),
  );
}, 30_000);

it('a picture has at most 25 arrows, and its labels fit their boxes in any font', () => {
  for (const drawing of drawings()) {
    for (const { name } of partsOf(drawing)) {
      const drawn = readFileSync(`visualizations/${name}.svg`, 'utf8');
      expect([name, (drawn.match(/class="edge"/g) ?? []).length <= 25]).toEqual([name, true]);
      expect([name, (drawn.match(/<text (?![^>]*textLength)[^>]*>/g) ?? []).length]).toEqual([name, 0]);
    }
  }
});

/** Every state of a machine, by its path. */
const statesOf = (machine: AnyStateMachine): string[] => {
  const below = (node: AnyStateMachine['root']): string[] => [node.id, ...Object.values(node.states).flatMap(below)];
  return below(machine.root);
};

it.each(Object.entries(machines))(
  'visualizations/%s.json loads and runs with stubs, with the same states',
  (name, machine) => {
    const text = readFileSync(`visualizations/${name}.json`, 'utf8');
    const loaded = createMachine(JSON.parse(text));
    const named = (key: string) =>
      [...text.matchAll(new RegExp(`"${key}": "([^"]+)"`, 'g'))].map(([, found = '']) => found);
    const stubs = (names: readonly string[], stub: unknown) => Object.fromEntries(names.map((one) => [one, stub]));
    const { actions } = machine.implementations;
    const actor = createActor(
      loaded.provide({
        actions: stubs(Object.keys(actions), () => undefined),
        guards: stubs([...named('guard'), ...named('type')], () => false),
        actors: stubs(
          named('src'),
          fromCallback(() => undefined),
        ),
      } as never),
    ).start();
    expect(actor.getSnapshot().error).toBeUndefined();
    actor.stop();
    expect(statesOf(loaded)).toEqual(statesOf(machine));
  },
);

const isRendered = ['rsvg-convert', 'pdftotext'].every((tool) => spawnSync(tool, ['--version']).error === undefined);

type WordBox = { word: string; left: number; right: number; top: number; bottom: number };

/** Renders a picture, and returns where its words lie. */
function wordsIn(picture: string): WordBox[] {
  const pdf = execFileSync('rsvg-convert', ['--format', 'pdf', `visualizations/${picture}`]);
  const found = execFileSync('pdftotext', ['-bbox', '-', '-'], { input: pdf, encoding: 'utf8' });
  return [...found.matchAll(/<word xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)<\/word>/g)].map(
    ([, left, top, right, bottom, word = '']) => ({
      word,
      ...{ left: Number(left), right: Number(right), top: Number(top), bottom: Number(bottom) },
    }),
  );
}

/** How much the lower part of a box's line may reach into the next one's, of its height. */
const tolerance = 0.35;

describe.skipIf(!isRendered)('in a renderer without the fonts of the layout', () => {
  it.each(readdirSync('visualizations').filter((name) => name.endsWith('.svg')))(
    'no word of %s lies on another',
    (name) => {
      const words = wordsIn(name);
      expect(words.length).toBeGreaterThan(10);
      const overlaps = words.flatMap((one, index) =>
        words.slice(index + 1).flatMap((other) => {
          const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
          const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
          const height = Math.min(one.bottom - one.top, other.bottom - other.top);
          return across > 1 && down > tolerance * height ? [`${one.word} | ${other.word}`] : [];
        }),
      );
      expect(overlaps).toEqual([]);
    },
  );
});
