import { tool } from 'ai';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { defineAgent, PawlError, runSession } from '../../src/index.ts';
import { MicrostepReplay } from '../../src/inspect/recorded/microstep-replay.ts';
import { Redactor } from '../../src/inspect/tape/redacted.ts';
import { sessionFile } from '../../src/inspect/tape/session-file.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { readTape } from '../../src/journal/tape.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { blockIn } from '../support/pages.ts';
import { report } from '../support/session.ts';

const secret = 'hunter two, "2" spaces';
const shaped = 'sk-proj-0123456789abcdefghij';

/** A session that holds the secrets wherever a text may be. */
async function telling(): Promise<JournalEntry[]> {
  const journal = new MemoryJournal();
  const inputSchema = z.object({ type: z.string(), input: z.string() });
  const agent = defineAgent({
    name: 'sk-proj-agentname0123456789',
    instructions: `Never say ${secret}.`,
    models: [
      rehearsalModel([
        {
          text: `I say ${secret}`,
          reasoning: secret,
          calls: [{ name: 'look', input: { type: secret, input: shaped } }],
        },
        {
          calls: [
            { name: `no ${secret}`, input: secret },
            { name: 'fail', input: { type: 'a', input: 'b' } },
          ],
        },
        { throws: Object.assign(new Error(`refused ${shaped}`), { statusCode: 503 }) },
        { text: 'only text' },
        report(`The report: ${secret}, ${shaped}`),
      ]),
    ],
    tools: {
      look: tool({
        description: `Looks, with ${secret}.`,
        inputSchema,
        execute: ({ type }) => ({ type, input: type, kind: shaped, nested: [{ authorization: 'whatever' }] }),
      }),
      fail: tool({
        inputSchema,
        execute: async (): Promise<string> => {
          throw new Error(`no ${secret}`);
        },
      }),
    },
    limits: { maxTurns: 4, maxRetries: 4 },
  });
  const metadata = { of: secret };
  const result = await runSession(agent, {
    prompt: `Use ${secret}.`,
    metadata,
    journal,
    sessionId: 's',
    logger: false,
  });
  expect([result.status, result.counters.requests]).toEqual(['succeeded', 5]);
  return journal.read('s');
}

let entries: JournalEntry[];
beforeAll(async () => {
  entries = await telling();
});

/** What a file has of a journal: a page takes replies from their deliveries. */
const withoutDeltas = (entries: readonly JournalEntry[]) =>
  entries.filter((entry) => entry.type !== 'sighted' || entry.sighting.type !== 'model.delta');

const framesOf = (entries: readonly JournalEntry[]) => {
  const { microsteps, difference } = new MicrostepReplay().play(JSON.parse(JSON.stringify(entries)));
  return { microsteps, difference };
};

describe('S-5: a session as a file holds no secret, and decides the same', () => {
  it('the provider of a request is clean too, and entries of another format are refused', () => {
    const [first] = entries;
    if (first?.type !== 'started') throw new Error('it does not begin with its start');
    const named = entries.map((entry) => (entry.type === 'sent' ? { ...entry, provider: `p ${shaped}` } : entry));
    const clean = new Redactor(() => []).takeEntries(named);
    const providers = clean.flatMap((entry) => (entry.type === 'sent' ? [entry.provider] : []));
    expect(new Set(providers)).toEqual(new Set(['p [redacted]']));
    expect(() => new Redactor(() => []).takeEntries([{ ...first, head: { ...first.head, format: 3 } }])).toThrow(
      expect.objectContaining({ code: 'machines_changed' }),
    );
  });

  it('a step that nothing leads to is still found to be one', () => {
    const at = entries.findLastIndex(({ type }) => type === 'delivered');
    const clean = new Redactor(() => [secret]).takeEntries(entries.filter((_, index) => index !== at));
    expect(JSON.stringify(clean)).not.toContain('hunter');
    expect(framesOf(clean).difference).toMatchObject({ entry: expect.any(Number), replayed: '' });
  });

  it('known secrets and those of a known shape are taken out of every text', () => {
    expect(JSON.stringify(entries)).toContain('hunter');
    const html = sessionFile(entries, { secrets: ['hunter two', secret] });
    const tape = blockIn(html, 'tape');
    for (const text of [html, tape])
      for (const one of ['hunter', 'agentname', shaped, 'whatever']) expect(text).not.toContain(one);
    expect(tape).toContain('[redacted]');
    expect(html).toMatch(/data-redacted="[1-9]/);
    expect(framesOf(readTape(tape))).toEqual(framesOf(withoutDeltas(entries)));
  });

  it.each([
    'valid',
    'input',
    'reply',
    'tool-call',
    'unknown',
    'session.steer',
    'user',
    'text_only',
    'server',
    'attempt',
    'stop',
  ])('also when one is a word of ours: %s', (word) => {
    const tape = readTape(blockIn(sessionFile(entries, { secrets: [word] }), 'tape'));
    expect(framesOf(tape)).toEqual(framesOf(withoutDeltas(entries)));
  });

  it('without secrets, the tape is the journal to the letter, but for the pieces of replies', async () => {
    const journal = new MemoryJournal();
    const agent = defineAgent({ name: 'plain', models: [rehearsalModel([report('a report')])] });
    await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
    const plain = await journal.read('s');
    expect(readTape(blockIn(sessionFile(plain), 'tape'))).toEqual(withoutDeltas(plain));
    // One that these machines replay differently is not refused: the page tells where.
    const tampered = JSON.parse(JSON.stringify(plain).replace('"isLastTurn":false', '"isLastTurn":true'));
    const { difference } = new MicrostepReplay().play(readTape(blockIn(sessionFile(tampered), 'tape')));
    expect(difference).toMatchObject({ scope: '' });
  });

  it('S-8: a report may have fields that every object inherits', async () => {
    const journal = new MemoryJournal();
    const models = [rehearsalModel([report({ constructor: 'Ferrari', toString: 'x', type: shaped })])];
    const agent = defineAgent({ name: 'racing', models, report: { format: 'json' } });
    await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
    const tape = blockIn(sessionFile(await journal.read('s')), 'tape');
    expect(tape).toContain('Ferrari');
    expect(tape).not.toContain(shaped);
  });

  it('entries that are no session are refused', () => {
    expect(() => sessionFile([{ scope: '', type: 'begun', key: 'x', at: 1 }])).toThrow(PawlError);
  });
});

it('S-5: a file holds no secret of the agents and the environment of its process, though none is named', async () => {
  vi.stubEnv('PAWL_TEST_TOKEN', 'walnut-ferry-lantern');
  onTestFinished(() => void vi.unstubAllEnvs());
  const journal = new MemoryJournal();
  const models = [rehearsalModel([report('correct horse battery, and walnut-ferry-lantern')])];
  const agent = defineAgent({ name: 'teller', models, secrets: ['correct horse battery'] });
  await runSession(agent, { prompt: 'Tell.', journal, sessionId: 's', logger: false });
  const tape = blockIn(sessionFile(await journal.read('s')), 'tape');
  expect(tape).toContain('[redacted]');
  expect(tape).not.toContain('correct horse');
  expect(tape).not.toContain('walnut-ferry');
});
