import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ResumePass, resumeAll, startSession } from '../../src/index.ts';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';
import { assertInvariants, startModelServer } from '../../src/testing/index.ts';
import { holding, until } from '../support/journaled.ts';
import { command, pawl } from '../support/pawl.ts';
import { type Postgres, postgresFolder, startPostgres } from '../support/postgres.ts';

describe.skipIf(postgresFolder === null)('sessions in PostgreSQL', async () => {
  const server: Postgres | null = postgresFolder === null ? null : await startPostgres(postgresFolder);
  const url = server?.url ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'pawl-lives-'));
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await server?.stop();
  });

  it('D-4e: `resumeAll` that watches brings back what a restart of the server suspended, without a call', async () => {
    const journal = postgresJournal(url, { leaseMs: 1_000 });
    const { held, agent } = holding();
    const back = Promise.withResolvers<ResumePass>();
    const errors: unknown[] = [];
    const watch = (pass: ResumePass | { error: unknown }) => {
      if ('error' in pass) errors.push(pass.error);
      else if (pass.sessions.length > 0) back.resolve(pass);
    };
    const watched = await resumeAll([agent], { journal, logger: false, watch });
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 'long', logger: false });
    await until(() => held.runs === 1);
    await server?.kill();
    held.finish('done');
    expect(await session.result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    // It starts again so soon that the watch might never notice.
    await until(() => errors.length > 0);
    await server?.start();
    const { sessions } = await back.promise;
    const result = await sessions[0]?.result;
    expect([sessions.map(({ sessionId }) => sessionId), result?.status]).toEqual([['long'], 'succeeded']);
    if (result !== undefined) assertInvariants(result);
    await watched.close();
    await journal.close();
  }, 30_000);

  it('D-6: `pawl check` and `pawl sessions` read them by the URL of the database', async () => {
    const journal = postgresJournal(url);
    const { held, agent } = holding();
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 'open', logger: false });
    await until(() => held.runs === 1);
    await session.suspend({ graceMs: 0 });
    await journal.close();
    const file = join(folder, 'agent.mjs');
    writeFileSync(file, "export default { name: 'working', models: ['openai:gpt-5'] };");
    const { code, stdout } = await pawl(['check', '--journal', url, '--agent', file]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^open {2}suspended {2}is refused$/m);
    expect(stdout).toContain('the model rehearsal:script is missing; the tool work is missing.');
    expect((await pawl(['sessions', '--journal', url])).stdout).toContain('open');
  });

  it('D-6: `pawl serve` keeps its sessions there', async () => {
    await using models = await startModelServer([{ calls: [{ name: 'final_report', input: { content: 'kept' } }] }]);
    const file = join(folder, 'helper.md');
    writeFileSync(file, '---\nname: helper\n---\nYou help.\n');
    const args = ['serve', '--openai', file, '--http', '0', '--base-url', models.url, '--model', 'any'];
    const child = spawn(process.execPath, [command, ...args, '--journal', url], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [line] = await once(child.stderr ?? process.stdin, 'data');
    const body = JSON.stringify({ model: 'helper', input: 'x' });
    const response = await fetch(`${/http:\S+/.exec(String(line))?.[0]}/responses`, { method: 'POST', body });
    expect(await response.json()).toMatchObject({ status: 'completed' });
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    const journal = postgresJournal(url);
    expect(await journal.list({ agent: 'helper' })).toMatchObject([{ status: 'succeeded' }]);
    await journal.close();
  });
});
