import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type AnyStateMachine, createActor, createMachine, fromCallback } from 'xstate';
import { drawings, machines, partsOf } from '../graph/drawing.ts';

it('the diagrams, tables and configurations are up to date (npm run draw)', () => {
  const said = execFileSync(process.execPath, ['scripts/draw/main.ts', '--check'], { encoding: 'utf8' });
  expect(said).toBe('All pictures are up to date.\n');
  const names = drawings().flatMap((drawing) => [
    ...partsOf(drawing).map(({ name }) => `${name}.svg`),
    ...['coverage.svg', 'json', 'mmd', 'table.md'].map((end) => `${drawing.name}.${end}`),
  ]);
  expect(readdirSync('visualizations').toSorted()).toEqual(names.toSorted());
}, 30_000);

it('tests cover every arrow of the coverage diagrams (npm run verify)', () => {
  for (const { name, arrows } of drawings()) {
    const drawn = readFileSync(`visualizations/${name}.coverage.svg`, 'utf8');
    expect([name, drawn.includes('#dc2626')]).toEqual([name, false]);
    for (const { source } of arrows) expect(drawn).toContain(source.split('.').at(-1));
  }
});

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
