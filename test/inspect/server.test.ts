import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { defineAgent, type Journal, runSession, startSession } from '../../src/index.ts';
import { type Inspector, inspector } from '../../src/inspect/index.ts';
import { LiveTape, type TapePiece } from '../../src/inspect/live/live-tape.ts';
import { WatchedJournal } from '../../src/inspect/live/watched-journal.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { until } from '../support/journaled.ts';
import { report } from '../support/session.ts';

const plain = (name: string, replies: RehearsedReply[] = []) =>
  defineAgent({ name, models: [rehearsalModel([...replies, report()])] });

const start = (agent: ReturnType<typeof plain>, journal: Journal, sessionId: string) =>
  startSession(agent, { prompt: 'Go.', journal, sessionId, logger: false });

/** Asks the server as a program would, with any headers. */
function ask(address: string, path: string, headers: Record<string, string> = {}, method = 'GET', body = '') {
  const { hostname, port } = new URL(address);
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
        if (String(response.headers['content-type']).includes('event-stream') && text.includes('data:')) sent.destroy();
      });
      response
        .on('error', () => undefined)
        .on('close', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    // A stream is cut off once it has told something.
    sent.on('error', (error) => (sent.destroyed ? undefined : reject(error))).end(method === 'POST' ? body : undefined);
  });
}

/** The cookie and the token that the address gives. */
async function admitted(shown: Inspector) {
  const address = shown.address ?? '';
  const token = new URL(address).searchParams.get('token') ?? '';
  const { headers, status } = await ask(address, `/?token=${token}`);
  expect(status).toBe(303);
  const cookie = String(headers['set-cookie']);
  const place = String(headers.location);
  // Other servers of this machine get no cookie of this path, and the cookie is not the token.
  expect(cookie).toContain(`HttpOnly; SameSite=Strict; Path=${place}`);
  expect(cookie).not.toContain(token);
  return { address, token, place: place.slice(0, -1), cookie: cookie.split(';')[0] ?? '' };
}

describe('S-8: the inspector refuses unauthorized requests', () => {
  it('can be closed again, as a `using` does after an explicit close', async () => {
    await using shown = await inspector({ port: 0 });
    await shown.close();
    await shown.close();
  });

  it('nothing listens unless asked for', async () => {
    await using shown = await inspector();
    expect(shown.address).toBeNull();
    await runSession(plain('quiet'), { prompt: 'Go.', journal: shown.journal, sessionId: 's', logger: false });
    expect(await shown.file('s')).toContain('id="tape"');
    await expect(shown.file('no')).rejects.toMatchObject({ code: 'session_unknown' });
    await expect(inspector({ port: 70_000 })).rejects.toThrow('`port` must be an integer from 0 to 65535; got 70000.');
    await expect(inspector({ journal: {} as Journal })).rejects.toThrow('`journal` must be a journal');
    await expect(inspector({ prot: 1 } as never)).rejects.toThrow(
      'Unknown option `prot`. Options: journal, port, agents, secrets.',
    );
  });

  it('refuses a foreign host, origin or site, and a missing token, on every route', async () => {
    await using shown = await inspector({ port: 0 });
    const { address, token, place, cookie } = await admitted(shown);
    await start(plain('secretive'), shown.journal, 's').result;
    const routes: [string, string][] = [
      ['GET', '/'],
      ['GET', '/page.js'],
      ['GET', '/page.css'],
      ['GET', '/pictures.json'],
      ['GET', '/sessions'],
      ['GET', '/sessions/s/tape'],
      ['GET', '/sessions/s/file'],
      ['POST', '/sessions/s/commands'],
      ['POST', '/sessions/s/forks'],
    ];
    const refused = await ask(address, `${place}/`, { cookie, host: 'evil.example' });
    expect(refused.headers['content-type']).toBe('application/json');
    expect(refused.text).toBe('{"error":"host not allowed"}');
    for (const [method, path] of routes) {
      const status = async (headers: Record<string, string>) => {
        const good = method === 'POST' ? { 'x-pawl-token': token } : {};
        return (await ask(address, `${place}${path}`, { ...good, cookie, ...headers }, method, '{"type":"stop"}'))
          .status;
      };
      // It is let in; a stop is no change to fork at.
      expect([path, await status({})]).toEqual([path, path.endsWith('forks') ? 409 : 200]);
      expect([path, await status({ host: 'evil.example' })]).toEqual([path, 403]);
      expect([path, await status({ origin: 'https://evil.example' })]).toEqual([path, 403]);
      expect([path, await status({ origin: 'http://localhost:9999' })]).toEqual([path, 403]);
      expect([path, await status({ 'sec-fetch-site': 'cross-site' })]).toEqual([path, 403]);
      expect([path, await status({ cookie: '' })]).toEqual([path, 401]);
      expect([path, await status({ cookie: cookie.replace(/.$/, '?') })]).toEqual([path, 401]);
    }
    for (const path of ['//', '/%', `${place}/sessions/%/tape`])
      expect([path, (await ask(address, path, { cookie })).status]).toEqual([path, path.startsWith(place) ? 400 : 401]);
    for (const what of ['tape', 'file'])
      expect((await ask(address, `${place}/sessions/nosuch/${what}`, { cookie })).status).toBe(404);
    expect((await ask(address, '/?token=wrong')).status).toBe(401);
    const forged = await ask(address, `${place}/sessions/s/commands`, { cookie }, 'POST', '{"type":"abort"}');
    expect(forged.status).toBe(401);
    const { headers } = await ask(address, `${place}/`, { cookie });
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    expect(String(headers['content-security-policy'])).toContain("frame-ancestors 'none'");
    expect((await ask(address, `${place}/etc/passwd`, { cookie })).status).toBe(404);
    expect((await ask(address, `${place}/sessions`, { cookie }, 'DELETE')).status).toBe(405);
  });

  it('the error for a bad command states what was expected', async () => {
    await using shown = await inspector({ port: 0 });
    const { address, token, place, cookie } = await admitted(shown);
    await start(plain('done'), shown.journal, 's').result;
    const command = async (body: string) => {
      const { status, text } = await ask(
        address,
        `${place}/sessions/s/commands`,
        { cookie, 'x-pawl-token': token },
        'POST',
        body,
      );
      return [status, JSON.parse(text).error ?? JSON.parse(text).taken];
    };
    expect(await command('{')).toEqual([400, expect.stringContaining('The body is not JSON')]);
    expect((await command(`${'['.repeat(50_000)}${']'.repeat(50_000)}`))[0]).toBe(400);
    expect(await command('{"type":"dance"}')).toEqual([409, expect.stringContaining('answer, steer, stop or abort')]);
    expect(await command('{"type":"steer","text":""}')).toEqual([409, expect.stringContaining('text')]);
    expect(await command(`{"type":"steer","text":"${'x'.repeat(5_000_000)}"}`)).toEqual([413, expect.anything()]);
    expect(await command('{"type":"abort"}')).toEqual([200, false]);
    const fork = async (body: string) => {
      const { status, text } = await ask(
        address,
        `${place}/sessions/s/forks`,
        { cookie, 'x-pawl-token': token },
        'POST',
        body,
      );
      return [status, JSON.parse(text).error];
    };
    const key = 'turn-1/attempt-1/model';
    const delivery = { key, at: 1, chance: 0.5, outcome: {} };
    const reply = (await shown.journal.read('s')).findIndex(
      (entry) => entry.type === 'delivered' && 'key' in entry.delivery && entry.delivery.key === key,
    );
    const entry = reply + 1;
    const forked = (change: unknown) => fork(JSON.stringify(change));
    expect(await forked(null)).toEqual([409, expect.stringContaining('`change` must be')]);
    expect(await forked({ entry: 1, delivery })).toEqual([409, expect.stringContaining('the number of a delivery')]);
    expect(await forked({ entry, delivery })).toEqual([409, expect.stringContaining('an outcome with reply, fault')]);
    expect(await forked({ entry, delivery: { at: 1, event: { type: 'dance' } } })).toEqual([
      409,
      expect.stringContaining('a delivery'),
    ]);
    expect(await forked({ entry, delivery: { ...delivery, key: 'close' } })).toEqual([
      409,
      expect.stringContaining('change.delivery.key'),
    ]);
    expect(await shown.journal.list({})).toHaveLength(1);
  });

  it('planted secrets are in no tape and no page, whole or in pieces of a reply', async () => {
    const secret = 'open "sesame" 2025';
    await using shown = await inspector({ port: 0, secrets: ['open', secret] });
    const { address, place, cookie } = await admitted(shown);
    const calls = [{ name: 'nope', input: { q: secret } }];
    const agent = plain('telling', [{ text: `It is ${secret}, sk-proj-0123456789abcdefghij.`, calls }]);
    const metadata = { of: secret, key: 'sk-proj-0123456789abcdefghij' };
    await startSession(agent, { prompt: 'Go.', journal: shown.journal, sessionId: 's', metadata, logger: false })
      .result;
    for (const path of ['/sessions/s/tape', '/sessions/s/file', '/sessions']) {
      const { text, status } = await ask(address, `${place}${path}`, { cookie });
      expect([path, status]).toEqual([path, 200]);
      for (const one of ['sesame', 'sk-proj-0123']) expect(text).not.toContain(one);
    }
  });
});

describe('S-8: a page that is loaded again', () => {
  it('keeps its tape while another reader leaves', async () => {
    const inner = new MemoryJournal();
    const held: { release: (() => void)[]; holds: boolean } = { release: [], holds: false };
    const list: Journal['list'] = async (query) => {
      if (held.holds) await new Promise<void>((resolve) => held.release.push(resolve));
      return inner.list(query);
    };
    const journal = new WatchedJournal(Object.assign(Object.create(inner), { list }));
    const session = start(plain('reloaded', [{}]), journal, 's');
    await session.result;
    const tape = new LiveTape(journal, 's', () => []);
    const leave = await tape.join(() => {}, 0);
    held.holds = true;
    const joined = tape.join(() => {}, 0);
    await until(() => held.release.length > 0);
    leave();
    expect(tape.isIdle).toBe(false);
    held.holds = false;
    for (const release of held.release) release();
    (await joined)();
    expect(tape.isIdle).toBe(true);
    tape.close();
  });

  it('is told why the list cannot be read', async () => {
    const inner = new MemoryJournal();
    const list = () => Promise.reject(new Error('no connection to postgres://me:hunter22@db'));
    await using shown = await inspector({ port: 0, journal: Object.assign(Object.create(inner), { list }) });
    const { address, place, cookie } = await admitted(shown);
    const { text } = await ask(address, `${place}/sessions`, { cookie });
    expect(text).toContain('"failure":"no connection to postgres://me:[redacted]@db"');
  });
});

/** Pieces of a reply are not shown, since a secret may be spread over them; the reply is there as a whole. */
const withoutDeltas = (entry: JournalEntry): JournalEntry =>
  entry.type === 'sighted' && entry.sighting.type === 'model.delta'
    ? { ...entry, sighting: { ...entry.sighting, delta: '' } }
    : entry;

/** Reads a tape as a page does, cut off again and again; returns the entries in the order of their coming. */
async function readWithCuts(address: string, cookie: string, path: string, cuts: number[], total: () => number) {
  const got: unknown[] = [];
  const enough = () => got.length >= total();
  let last = 0;
  const { hostname, port } = new URL(address);
  const once = (cutAfter: number) =>
    new Promise<void>((resolve, reject) => {
      let bytes = 0;
      let text = '';
      const sent = request(
        { hostname, port, path, headers: { cookie, ...(last > 0 && { 'last-event-id': String(last) }) } },
        (response) => {
          response.setEncoding('utf8').on('data', (chunk: string) => {
            bytes += chunk.length;
            text += chunk;
            for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
              const id = /^id: (\d+)$/m.exec(text.slice(0, end))?.[1];
              const piece: TapePiece = JSON.parse(/^data: (.*)$/m.exec(text.slice(0, end))?.[1] ?? '{}');
              if ('entries' in piece) got.push(...piece.entries);
              if (id !== undefined) last = Number(id);
              text = text.slice(end + 2);
            }
            if (bytes >= cutAfter || enough()) sent.destroy();
          });
          response.on('close', resolve);
        },
      );
      sent.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve() : reject(error)));
      sent.end();
    });
  for (const cut of [...cuts, Number.POSITIVE_INFINITY]) {
    await once(cut);
    if (enough()) break;
  }
  return got;
}

describe('S-8: the tape over the wire', () => {
  it('resumes by its number: no gaps and no duplicates, wherever the connection drops', async () => {
    await using shown = await inspector({ port: 0 });
    const { address, place, cookie } = await admitted(shown);
    const work = Array.from({ length: 40 }, (_, index) =>
      index % 5 === 2
        ? {}
        : {
            calls: [
              { name: 'nope', input: {} },
              { name: 'final_progress', input: {} },
            ],
          },
    );
    const agent = defineAgent({
      name: 'long',
      models: [rehearsalModel([...work, report()])],
      limits: { maxTurns: 1, maxRetries: 50 },
    });
    const session = start(agent, shown.journal, 's');
    const cuts = Array.from({ length: 20 }, (_, index) => ((index * 7_919) % 9_000) + 1);
    const whole: { entries: number } = { entries: Number.POSITIVE_INFINITY };
    const ended = session.result.then(async () => {
      whole.entries = (await shown.journal.read('s')).length;
    });
    await until(() => session.counters.requests > 2);
    const got = await readWithCuts(address, cookie, `${place}/sessions/s/tape`, cuts, () => whole.entries);
    await ended;
    const written: JournalEntry[] = JSON.parse(JSON.stringify(await shown.journal.read('s')));
    expect(got).toEqual(written.map(withoutDeltas));
  });
});
