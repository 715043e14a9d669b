import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { blockIn } from '../support/pages.ts';
import { pawl, pawlOnTerminal, startPawl } from '../support/pawl.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-inspect-'));
const [journal, tape, page] = ['pawl.db', 'one.jsonl', 'one.html'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
let sessionId = '';

describe('pawl export, and pawl inspect', () => {
  beforeAll(async () => {
    const { code, stdout } = await pawl(['demo', '--rehearsal', '--json', '--journal', journal, '--export', page]);
    expect(code).toBe(0);
    ({ sessionId } = JSON.parse(stdout));
  }, 30_000);

  it('S-5 S-8: a session becomes one page, as it ends or from its journal, without the secrets of the environment', async () => {
    expect(blockIn(readFileSync(page, 'utf8'), 'tape')).toContain(sessionId);
    const file = join(folder, 'again.html');
    const env = { OWN_TOKEN: 'architecture.md' };
    expect(
      await pawl(['export', sessionId, '--html', '-o', file, '--journal', journal], undefined, { env }),
    ).toMatchObject({
      code: 0,
      stdout: '',
    });
    const again = blockIn(readFileSync(file, 'utf8'), 'tape');
    expect(again).toContain(sessionId);
    expect(again).not.toContain('architecture.md');
    const whole = await pawl(['export', sessionId, '-o', tape, '--journal', journal]);
    expect([whole.code, readFileSync(tape, 'utf8').split('\n').length > 20]).toEqual([0, true]);
    const unknown = await pawl(['export', 'nosuch', '--html', '-o', file, '--journal', journal]);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('holds no session nosuch')]);
  });

  it.each([
    ['a journal', () => journal],
    ['an exported session', () => tape],
    ['a folder of them', () => folder],
  ])('shows %s until it is interrupted', async (_, file) => {
    await using shown = startPawl(['inspect', file()]);
    const [address = ''] = (await shown.said(/http:\S+/)) ?? [];
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=/);
    const first = await fetch(address, { redirect: 'manual' });
    const place = first.headers.get('location') ?? '';
    const cookie = (first.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const feed = await fetch(new URL(`${place}sessions`, address), { headers: { cookie } });
    const reader = feed.body?.getReader();
    let text = '';
    while (!text.includes('data:')) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    expect(text).toContain(sessionId);
    expect(text).toContain('"status":"succeeded"');
    shown.interrupt();
    expect(await shown.code).toBe(0);
  });

  it.each<[string[], string]>([
    [['inspect', '/nosuch'], 'There is no file /nosuch.'],
    [['inspect', 'a', 'b'], 'Pass one journal, exported session or folder; got a b.'],
    [['inspect', mkdtempSync(join(tmpdir(), 'pawl-empty-'))], 'holds no exported session (NAME.jsonl).'],
    [['run', '--port', '8080', 'x'], '--port is the port of a page: pass --inspect, too.'],
    [['inspect', '--port', 'abc'], '--port` must be a port from 0 to 65535; got "abc".'],
  ])('%o is explained in a sentence', async (args, message) => {
    const { code, stderr } = await pawl(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('pawl demo --inspect prints the result, then stays open on a terminal until Ctrl-C', async () => {
    let typed = false;
    const { code, written } = await pawlOnTerminal(['demo', '--rehearsal', '--inspect'], (type, text) => {
      if (typed || !text.includes('Press Ctrl-C to close it.')) return;
      typed = true;
      type('\u0003');
    });
    expect([code, typed]).toEqual([0, true]);
    expect(written.indexOf('attempts failed')).toBeLessThan(
      written.indexOf('The page stays open at http://127.0.0.1:'),
    );
  });

  it('a file that is no session is explained, too', async () => {
    const file = join(folder, 'broken.txt');
    for (const text of ['Dear diary', '{"pawl":"session","format":3}\n{"scope":"","type":"started"}\n']) {
      writeFileSync(file, text);
      const { code, stderr } = await pawl(['inspect', file]);
      expect([code, stderr.split('\n').length]).toEqual([2, 3]);
    }
  });
});
