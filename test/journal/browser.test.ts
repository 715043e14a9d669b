import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { build } from 'vite';
import { expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import { livesOf } from '../support/lives.ts';

it('D-3: in a browser the machines derive the same facts from a journal, sub-agents included', async () => {
  const { entries } = await livesOf([{ at: 20, when: 'after' }]);
  const [built] = [
    await build({
      configFile: false,
      logLevel: 'silent',
      build: {
        write: false,
        lib: { entry: join(import.meta.dirname, '../support/browser-replay.ts'), formats: ['iife'], name: 'browser' },
      },
    }),
  ].flat();
  const code = built !== undefined && 'output' in built ? (built.output[0]?.code ?? '') : '';
  expect(code).not.toMatch(/\brequire\(|from ?["']node:|\bprocess\.(?!env\.NODE_ENV)/);
  // Nothing of Node is there, and no machine waits.
  const noTimer = () => {
    throw new Error('a machine asked for a timer');
  };
  const page = createContext({ journal: JSON.stringify(entries), console, setTimeout: noTimer, clearTimeout: noTimer });
  runInContext(`${code}; result = JSON.stringify(browser.factsOfJournal(JSON.parse(journal)))`, page);
  const facts: Record<string, Fact[]> = JSON.parse(String(page.result));
  const scopes = new Set<string>();
  const taken = new Map(Object.keys(facts).map((scope) => [scope, 0]));
  for (const entry of entries) {
    if (entry.type !== 'stepped') continue;
    scopes.add(entry.scope);
    const from = taken.get(entry.scope) ?? 0;
    const count = entry.facts.length;
    taken.set(entry.scope, from + count);
    const types = (of: readonly { type: string }[]) => of.map(({ type }) => type);
    expect(types((facts[entry.scope] ?? []).slice(from, from + count))).toEqual(types(entry.facts));
  }
  expect(scopes.size).toBe(2);
  expect(taken.get('')).toBe(facts['']?.length);
});
