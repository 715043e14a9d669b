import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type TortureOptions, torture } from '../../src/torture/index.ts';
import { pawl } from '../support/pawl.ts';
import { loopIn } from './support/loop.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'pawl-loops-'));
afterAll(() => rmSync(folder, { recursive: true }));

const loop = loopIn(folder);

const tortured = async (command: string[], more: Partial<TortureOptions> = {}) => {
  const { tasks } = await torture({ command, tasks: ['bank-01'], rate: 0, jobs: 1, ...more });
  return tasks.map(({ id, judgement, requests, toolCalls, faults }) => ({
    id,
    judgement,
    requests,
    toolCalls,
    faults,
  }));
};
const one = { id: 'bank-01', requests: 3, toolCalls: 2, faults: [] };

describe('loops as processes of their own', () => {
  it('the control: without faults a plain loop carries out every kind of task', async () => {
    const tasks = ['bank-05', 'shop-05', 'calendar-01', 'repository-13'];
    expect((await tortured(loop('plain'), { tasks })).map(({ id, judgement }) => [id, judgement])).toEqual(
      ['bank-05', 'shop-05', 'calendar-01', 'repository-13'].map((id) => [id, 'right']),
    );
  });

  it.each<[string, string, Partial<TortureOptions>, object]>([
    [
      'says that it failed',
      "say('failed', 'no'); process.exit(0);",
      {},
      { ...one, judgement: 'failed', requests: 0, toolCalls: 0 },
    ],
    ['throws', "throw new Error('no');", {}, { ...one, judgement: 'failed', requests: 0, toolCalls: 0 }],
    ['says nothing', 'process.exit(0);', {}, { ...one, judgement: 'failed', requests: 0, toolCalls: 0 }],
    [
      'claims it',
      "say('done', 'Done.'); process.exit(0);",
      {},
      { ...one, judgement: 'claimed', requests: 0, toolCalls: 0 },
    ],
    [
      'hangs',
      'await new Promise((resolve) => setTimeout(resolve, 60_000));',
      { timeoutMs: 1_000 },
      { ...one, judgement: 'hung', requests: 0, toolCalls: 0 },
    ],
    [
      'asks too often',
      'for (let asked = 0; asked < 5; asked += 1) await ask();',
      { maxRequests: 4 },
      { ...one, judgement: 'exceeded', requests: 8 },
    ],
  ])('a loop that %s', async (name, more, options, expected) => {
    expect(await tortured(loop(name, more), options)).toEqual([expected]);
  });

  it('a loop that makes a call twice', async () => {
    const twice =
      "const { tool_calls: [, { function: made } = {}] = [] } = await ask();\nconst transfer = JSON.stringify({ from: 'ada-savings', to: 'ada-everyday', cents: 5000, memo: 'top up' });\nawait call('transfer', transfer);";
    expect(await tortured(loop('twice', twice))).toEqual([{ ...one, judgement: 'twice', requests: 4, toolCalls: 3 }]);
  });

  it('a loop is told what a call led to, why one is refused, and the same again for a key that was used', async () => {
    const file = join(folder, 'told.json');
    const asks = `
const said = [];
const post = async (name, input, key) => {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  const response = await fetch(task.toolUrl + '/' + name, { method: 'POST', headers, body: JSON.stringify(input) });
  said.push([response.status, await response.json()]);
};
const transfer = { from: 'ada-savings', to: 'ada-everyday', cents: 500000, memo: 'all' };
await Promise.all([post('transfer', transfer, 'a'), post('transfer', transfer, 'a')]);
await post('transfer', transfer, 'b');
await post('get_account', { account: 'ada-savings' });
await post('get_account', 'no object');
await post('get_account', null);
await post('get_account', { account: 'ada-everyday' }, 'a');
(await import('node:fs')).writeFileSync(${JSON.stringify(file)}, JSON.stringify(said));
say('failed', 'no'); process.exit(0);`;
    const expected = { ...one, judgement: 'failed', requests: 0, toolCalls: 6 };
    expect(await tortured(loop('told', asks))).toEqual([expected]);
    const moved = { ok: true, result: { number: 1 } };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual([
      [200, moved],
      [200, moved],
      [409, { ok: false, error: 'ada-savings has 0 cents' }],
      [200, { ok: true, result: { owner: 'ada', cents: 0, isOpen: true } }],
      [409, { ok: false, error: 'the input is no object' }],
      [409, { ok: false, error: 'the input is no object' }],
      // The key of another call says nothing of this one.
      [200, { ok: true, result: { owner: 'ada', cents: 600_000, isOpen: true } }],
    ]);
  });

  it('a call that is slow is made once, though its client gives up and makes it again with the same key', async () => {
    const gives = `
const transfer = JSON.stringify({ from: 'ada-savings', to: 'ada-everyday', cents: 5000, memo: 'top up' });
const made = (signal) => fetch(task.toolUrl + '/transfer', { method: 'POST', headers: { 'idempotency-key': 'k' }, body: transfer, signal });
await made(AbortSignal.timeout(50)).catch(() => undefined);
await (await made()).text();
say('done', 'Moved.'); process.exit(0);`;
    const found = await tortured(loop('gives up', gives), { faults: ['tool_slow'], toolRate: 1 });
    expect(found).toEqual([{ ...one, judgement: 'right', requests: 0, toolCalls: 1, faults: ['transfer: tool_slow'] }]);
  });

  it('a loop that has ended is not waited for because of what it has let go', async () => {
    const [program, file] = loop('lets go', "say('failed', 'no'); process.exit(0);");
    const began = performance.now();
    const found = await tortured(['sh', '-c', `setsid sleep 30 & "${program}" "${file}"`], { timeoutMs: 20_000 });
    expect(found).toEqual([{ ...one, judgement: 'failed', requests: 0, toolCalls: 0 }]);
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  it('what ends the suite ends the loops that it runs', async () => {
    const pids = join(folder, 'pids');
    const stays = `(await import('node:fs')).appendFileSync(${JSON.stringify(pids)}, process.pid + ' ' + task.state + '\\n');
await new Promise((resolve) => setTimeout(resolve, 60_000));`;
    const args = ['--no-warnings', join(root, 'src/cli/main.ts'), 'torture', '--tasks', 'bank-01,bank-02', '--'];
    const suite = spawn(process.execPath, [...args, ...loop('stays', stays)], { stdio: 'ignore' });
    const begun = () =>
      (existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n') : []).map((line) => line.split(' '));
    await expect.poll(begun).toHaveLength(2);
    suite.kill('SIGTERM');
    expect(await once(suite, 'exit')).toEqual([130, null]);
    expect(begun().map(([, state = '']) => existsSync(state))).toEqual([false, false]);
    const isAlive = ([pid]: string[]) => {
      try {
        return process.kill(Number(pid), 0);
      } catch {
        return false;
      }
    };
    await expect.poll(() => begun().filter(isAlive)).toEqual([]);
  });

  it('faults come over the wire, and at tools, and are told', async () => {
    const plain = loop('plain');
    expect(await tortured(plain, { rate: 1, faults: ['claimed'] })).toEqual([
      { ...one, judgement: 'claimed', requests: 1, toolCalls: 0, faults: ['1: claimed'] },
    ]);
    const [found] = await tortured(plain, { toolRate: 1, faults: ['tool_busy'], maxRequests: 5 });
    expect([found?.faults[0], found?.judgement]).toEqual(['get_account: tool_busy', 'exceeded']);
  });

  it('a loop that is killed is started again, and one that keeps nothing does things twice', async () => {
    const found = await tortured(loop('plain'), { kills: 'request', tasks: ['bank-13', 'bank-14'] });
    expect(found.map(({ faults }) => faults.length)).toEqual([1, 1]);
    expect(found.map(({ judgement }) => judgement)).toEqual(['twice', 'twice']);
  });

  it('a call that was carried out before a kill is made twice, unless it has a key', async () => {
    const killed = { kills: 'effect', tasks: ['bank-13', 'bank-14'] } as const;
    const verdicts = (found: { judgement: string }[]) => found.map(({ judgement }) => judgement);
    expect(verdicts(await tortured(loop('plain'), killed))).toEqual(['twice', 'twice']);
    const [program = '', file = ''] = loop('keyed');
    const headers = "headers: { 'idempotency-key': name + input }, body: input";
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace("method: 'POST', body: input", `method: 'POST', ${headers}`),
    );
    expect(verdicts(await tortured([program, file], killed))).toEqual(['right', 'right']);
  });

  it('a loop that is started by a shell ends with all of its group', async () => {
    const [program, file] = loop('hangs below', 'await new Promise((resolve) => setTimeout(resolve, 60_000));');
    const found = await tortured(['sh', '-c', `"${program}" "${file}"; exit $?`], { timeoutMs: 1_000 });
    expect(found).toEqual([{ ...one, judgement: 'hung', requests: 0, toolCalls: 0 }]);
  });

  it('a request of the other wire is refused, and one for anything else is not counted', async () => {
    expect(await tortured(loop('plain'), { wire: 'anthropic' })).toEqual([
      { ...one, judgement: 'failed', requests: 1, toolCalls: 0 },
    ]);
    const asksForModels = "await fetch(task.baseUrl + '/models');";
    expect(await tortured(loop('asks for models', asksForModels))).toEqual([{ ...one, judgement: 'right' }]);
  });

  it('bad options are refused before anything runs', async () => {
    const refused = (more: object) => torture({ command: ['node'], ...more }).catch((error) => error.message);
    expect(await refused({ command: [] })).toContain('command');
    expect(await refused({ rate: 2 })).toContain('a number from 0 to 1');
    expect(await refused({ tasks: ['moon'] })).toContain('must have ids of tasks');
    expect(await refused({ faults: ['rain'] })).toContain('one of empty, ');
    expect(await refused({ jobs: 0 })).toContain('an integer from 1 to 64');
    expect(await refused({ command: ['no-such-program'] })).toContain('`no-such-program` does not start');
  });

  it('pawl torture: Pawl itself under faults and a kill, its report and its badge', async () => {
    const [output, badge] = [join(folder, 'report.json'), join(folder, 'badge.json')];
    const args = [
      'torture',
      '--tasks',
      'bank-01,shop-01',
      '--rate',
      '30',
      '--kills',
      'request',
      '-o',
      output,
      '--badge',
      badge,
    ];
    const { code, stdout } = await pawl(args);
    expect([code, stdout]).toEqual([0, expect.stringContaining('2  right: the world is as it should be')]);
    const { totals, tasks } = JSON.parse(readFileSync(output, 'utf8'));
    expect(totals).toEqual({ right: 2, failed: 0, claimed: 0, twice: 0, exceeded: 0, hung: 0 });
    expect(tasks.every(({ faults }: { faults: string[] }) => faults.some((fault) => fault.includes('killed')))).toBe(
      true,
    );
    expect(JSON.parse(readFileSync(badge, 'utf8'))).toMatchObject({
      message: '2 of 2 right, 0 untrue',
      color: 'brightgreen',
    });
  });

  it.each(['openai', 'openai-responses', 'anthropic', 'gemini'])(
    'pawl torture: Pawl over the wire %s',
    async (wire) => {
      const args = ['torture', '--tasks', 'bank-03,repository-05', '--rate', '30', '--seed', '4', '--wire', wire];
      const { code, stdout } = await pawl(args);
      expect([code, stdout]).toEqual([0, expect.stringContaining('2  right: the world is as it should be')]);
    },
  );

  it('pawl torture: a loop of others, and what a mistake in its options is', async () => {
    const { code, stdout } = await pawl([
      'torture',
      '--tasks',
      'bank-01',
      '--rate',
      '0',
      '--',
      ...loop('claims it', "say('done', 'Done.'); process.exit(0);"),
    ]);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^bank-01 {8}claimed .*\n[\s\S]* 1 {2}claimed done, and it was not/),
    ]);
    const bad = await pawl(['torture', '--wire', 'morse']);
    expect([bad.code, bad.stderr]).toEqual([
      2,
      expect.stringContaining('one of openai, openai-responses, anthropic, gemini'),
    ]);
    expect(existsSync('undefined')).toBe(false);
  });
});
