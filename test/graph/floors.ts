import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** A room of `src/`, and what it holds. */
export type Room = { name: string; holds: string };

const room = (name: string, holds: string): Room => ({ name, holds });

/**
 * The rooms of `src/`, floor by floor from the ground up: a room imports `machines/`, itself and rooms on lower floors,
 * type imports included. `docs/architecture.md` shows the drawing that `npm run draw` makes of this table.
 */
export const floors: readonly (readonly Room[])[] = [
  [room('platform', 'What the runtime gives: Node’s modules where there are any, bytes, digests, paths, JSON, texts')],
  [room('secrets', 'What is a credential, how it may be written, and how it is taken out of a text')],
  [room('input', 'Checks of what callers give, and the errors for bad input')],
  [
    room('vocabulary', 'Limits, settings, prices, names of tools, metadata: nouns that several rooms share'),
    room('schema', 'Schemas: the user’s own, and those of others, whose checks are bounded'),
    room('host', 'The host, its drivers, the running machine; the only clock and the only timers'),
  ],
  [
    room('http', 'Requests within bounds: one for each attempt, to permitted addresses, of a limited size'),
    room('observe', 'The observer: folds over the facts, the log, the stream of events'),
    room('shared', 'What sessions share: the gates of targets, budgets, queues of tools'),
  ],
  [
    room('context', 'Measures requests, and writes stubs for the results that are left out'),
    room('report', 'One file for each report format, and the report that Pawl writes'),
    room('otel', 'Spans and metrics of sessions'),
  ],
  [
    room('model', 'The model effect: prompt, request, reply, faults, targets'),
    room('tools', 'The catalog and the tool effect; local tools, MCP, REST, OpenAPI, built-in tools'),
  ],
  [
    room('agent', 'The definition of an agent, its handoffs, checks and secrets'),
    room('journal', 'The entries, SQLite, PostgreSQL, the log of a tree of sessions, replay'),
  ],
  [
    room('session', 'Starts and runs a session: effects, sub-agents, recovery'),
    room('workspace', 'Tools for the files and commands of a directory'),
  ],
  [
    room('restate', 'Sessions on Restate'),
    room('batch', 'Batches: a session of one agent for each of many inputs'),
    room('serve', 'Agents behind HTTP: callers, bodies, event streams; agents as MCP servers'),
    room('workflow', 'Runs over a backlog: its files, its git repository, its agents'),
  ],
  [
    room('inspect', 'Sessions in a page, and the Stately inspector'),
    room('ui', 'Sessions in a chat page: UI message streams'),
    room('openai', 'Agents as models of an OpenAI-compatible API'),
    room('acp', 'Agents in editors, by the Agent Client Protocol'),
  ],
  [room('testing', 'Rehearsal models, a model server, invariants, arbitraries')],
  [room('torture', 'Small worlds, a wire that misbehaves, and a judge, for loops of any kind')],
  [room('cli', 'The command `pawl`')],
];

/** A source file, and the files of this project that it imports. */
export type Imports = { path: string; imports: readonly string[] };

/** Returns the imports of a TypeScript file; types, side effects and `import()` included. */
export function importsIn(path: string, text: string): string[] {
  return [...text.matchAll(/(?:\bfrom|\bimport\(|^import)\s*['"](\.[^'"]+)['"]/gm)].map(([, from = '']) =>
    normalize(join(dirname(path), from)),
  );
}

/** Returns every source file of a folder with its imports. */
export function importsOf(folder: string): Imports[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .toSorted()
    .map((name) => {
      const path = join(folder, name);
      return { path, imports: importsIn(path, readFileSync(path, 'utf8')) };
    });
}

/** Returns the room of a file in `src/`; null for a file beside the rooms, and outside of `src/`. */
export function roomOf(path: string): string | null {
  return /^src\/([^/]+)\//.exec(path)?.[1] ?? null;
}

/** Returns the imports that do not lead down: `file -> file`. Only `src/index.ts` is above all rooms. */
export function importsUp(files: readonly Imports[]): string[] {
  const floorOf = new Map(floors.flatMap((rooms, floor) => rooms.map(({ name }) => [name, floor] as const)));
  return files.flatMap(({ path, imports }) => {
    const own = roomOf(path);
    const isBelow = (target: string) => {
      if (!target.startsWith('src/')) return true;
      const room = roomOf(target);
      if (own === null || room === own) return true;
      return room !== null && (floorOf.get(room) ?? Number.NaN) < (floorOf.get(own) ?? Number.NaN);
    };
    return imports.filter((target) => !isBelow(target)).map((target) => `${path} -> ${target}`);
  });
}

/** Returns the files that import themselves through others, circle by circle (Tarjan's algorithm). */
export function circles(files: readonly Imports[]): string[][] {
  const graph = new Map(files.map(({ path, imports }) => [path, imports]));
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (path: string): number => {
    const number = order.size;
    order.set(path, number);
    stack.push(path);
    let low = number;
    for (const next of graph.get(path) ?? []) {
      if (!graph.has(next)) continue;
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, lowest.get(next) ?? order.get(next) ?? low);
    }
    lowest.set(path, low);
    if (low === number) {
      const circle = stack.splice(stack.indexOf(path));
      if (circle.length > 1) found.push(circle.toSorted());
    }
    return low;
  };
  for (const path of graph.keys()) if (!order.has(path)) visit(path);
  return found;
}
