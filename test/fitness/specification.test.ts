import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { attemptMachine, sessionMachine, toolCallMachine, turnMachine, workflowMachine } from '../../machines/index.ts';
import { breakages } from '../../scripts/verify/breakages.ts';

const rulePattern = /\b([BTCNFSPWD])-(\d)\b/g;
const specification = readFileSync('docs/specification.md', 'utf8');
const rules = new Map(
  [...specification.matchAll(/^- \*\*([A-Z]-\d)\*\* (.*)$/gm)].map(([, id = '', text = '']) => [
    id,
    text.includes('(planned'),
  ]),
);

function cited(folders: readonly string[]): Set<string> {
  const ids = new Set<string>();
  for (const folder of folders) {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue;
      for (const [id] of readFileSync(join(folder, name), 'utf8').matchAll(rulePattern)) ids.add(id);
    }
  }
  return ids;
}

describe('the specification', () => {
  it('defines every rule once', () => {
    expect(rules.size).toBe([...specification.matchAll(/^- \*\*[A-Z]-\d\*\*/gm)].length);
    expect(rules.size).toBeGreaterThan(45);
  });

  it('every rule that is not planned is cited in the code and in a test', () => {
    const built = [...rules].flatMap(([id, planned]) => (planned ? [] : [id]));
    const code = cited(['machines', 'src']);
    const tests = cited(['test']);
    expect(built.filter((id) => !code.has(id))).toEqual([]);
    expect(built.filter((id) => !tests.has(id))).toEqual([]);
  });

  it('no unknown rule is cited', () => {
    const unknown = [...cited(['machines', 'src', 'test'])].filter((id) => !rules.has(id));
    expect(unknown).toEqual([]);
  });

  it('every state of every machine is described and names its rules', () => {
    for (const machine of [sessionMachine, turnMachine, attemptMachine, toolCallMachine, workflowMachine]) {
      for (const state of Object.values(machine.states)) {
        expect([state.id, state.description !== undefined, (state.meta?.rules.length ?? 0) > 0]).toEqual([
          state.id,
          true,
          true,
        ]);
        for (const rule of state.meta?.rules ?? []) expect([state.id, rules.has(rule)]).toEqual([state.id, true]);
      }
    }
  });
});

it.each(breakages)('the code that `npm run verify` breaks exists: $name', ({ file, from }) => {
  expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2);
});
