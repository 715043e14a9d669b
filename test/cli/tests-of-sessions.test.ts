import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { sqliteJournal } from '../../src/index.ts';
import { pawl } from '../support/pawl.ts';

mkdirSync('reports', { recursive: true });
// Within the project, so that `pawl` is found as in a user's.
const folder = mkdtempSync(join('reports', 'tests-of-sessions-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);
const journal = at('night.db');

/** The agent of a project. A strict one lets no report through but the shelf alone. */
const agentFile = (strict: boolean) => `import { allow, defineAgent, deny } from 'pawl';
import { rehearsalModel } from 'pawl/testing';

const model = rehearsalModel([
  { calls: [{ name: 'search', input: { title: 'Ulysses' } }] },
  { calls: [{ name: 'final_report', input: { content: 'It is in J-12.' } }] },
]);
export default defineAgent({
  name: 'librarian',
  models: [model],
  tools: { search: () => 'J-12' },
  limits: { maxTurns: 2, maxRetries: 1 },
  checkReport: ({ content }) => (${strict} && !content.startsWith('J-') ? deny('The shelf alone.') : allow),
});
`;

/** Runs vitest on a file of the folder. */
async function vitest(file: string): Promise<{ passed: boolean; output: string }> {
  const cli = resolve('node_modules/vitest/vitest.mjs');
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [cli, 'run', '--root', folder, file], {
      env: { ...process.env, VITEST: '', NO_COLOR: '1' },
    });
    return { passed: true, output: stdout };
  } catch (error) {
    return { passed: false, output: String(Object(error).stdout) + String(Object(error).stderr) };
  }
}

describe('pawl test ID', () => {
  it('writes a test of a session that failed: red, and green after the mend', async () => {
    const agent = at('agent.mjs');
    writeFileSync(agent, agentFile(true));
    const run = await pawl(['run', '--agent', agent, '--journal', journal, 'Where is Ulysses?']);
    expect(run.code).toBe(1);
    const store = sqliteJournal(journal);
    const [row] = await store.list({});
    await store.close();
    const id = row?.sessionId ?? '';
    const output = at('night.test.ts');
    const made = await pawl(['test', id.slice(0, 8), '--agent', agent, '--journal', journal, '-o', output]);
    expect([made.stderr.replace(/^.*npx/s, 'npx'), made.code]).toEqual([`npx vitest run ${output}\n`, 0]);
    expect(made.stdout).toBe(`${output}\n${at('night.session.jsonl')}\n`);
    expect(readFileSync(output, 'utf8')).toContain('it("Where is Ulysses?", async () => {');
    const red = await vitest('night.test.ts');
    expect(red.output).toContain('the session failed: ');
    expect(red.passed).toBe(false);
    writeFileSync(agent, agentFile(false));
    const green = await vitest('night.test.ts');
    expect(green.output).toContain('1 passed');
    expect(green.passed).toBe(true);
    const again = await pawl(['test', id, '--agent', agent, '--journal', journal, '-o', output]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('is there already; name another with -o.')]);
  }, 60_000);

  it.each<[string, string[], string]>([
    ['no agent', ['x'], 'Pass one session, and its agent: pawl test ID --agent FILE -o test/ID.test.ts.'],
    ['no test', ['x', '--agent', 'a.mjs', '-o', 'x.json'], '-o must name a test, such as x.test.ts; got x.json.'],
    ['an unknown session', ['x', '--agent', 'a.mjs', '--journal', journal], 'The journal holds no session x'],
  ])('%s is told', async (_, args, message) => {
    const { code, stderr } = await pawl(['test', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(existsSync('x.json')).toBe(false);
  });
});
