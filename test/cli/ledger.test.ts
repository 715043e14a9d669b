import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pawl } from '../support/pawl.ts';

it('pawl run --ledger: a line for each request and each call, without what was said', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-ledger-'));
  const [agent, ledger] = [join(folder, 'agent.mjs'), join(folder, 'ledger.jsonl')];
  writeFileSync(
    agent,
    `import { rehearsalModel } from '${import.meta.resolve('../../src/testing/index.ts')}';
const usage = { input: 100, output: 10 };
export default {
  name: 'librarian',
  models: [rehearsalModel([{ text: '' }, { usage, calls: [{ name: 'search', input: { q: 'a secret word' } }] }, { usage, calls: [{ name: 'final_report', input: { content: 'done' } }] }])],
  tools: { search: () => 'nothing' },
  pricing: { 'rehearsal:script': { input: 1, output: 10 } },
};
`,
  );
  try {
    for (const _ of [1, 2]) {
      const { code } = await pawl(['run', '--agent', agent, '--ledger', ledger, '--json', 'Go.']);
      expect(code).toBe(0);
    }
    const text = readFileSync(ledger, 'utf8');
    expect(text).not.toContain('secret');
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const shown = ({ kind, turn, attempt, target, name, slug, fault, costUsd, agent: of }: Record<string, unknown>) => [
      kind,
      of,
      turn,
      attempt,
      target ?? name,
      kind === 'call' ? slug : fault,
      costUsd,
    ];
    const run = [
      ['request', 'librarian', 1, 1, 'rehearsal:script', null, expect.any(Number)],
      ['request', 'librarian', 1, 2, 'rehearsal:script', null, expect.closeTo(0.0002, 9)],
      ['call', 'librarian', 1, 2, 'search', null, undefined],
      ['request', 'librarian', 2, 1, 'rehearsal:script', null, expect.closeTo(0.0002, 9)],
      ['call', 'librarian', 2, 1, 'final_report', null, undefined],
    ];
    expect(lines.map(shown)).toEqual([...run, ...run]);
    for (const { at, durationMs, sessionId } of lines) {
      expect([Number.isNaN(Date.parse(at)), durationMs >= 0, sessionId.length]).toEqual([false, true, 36]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);
