import { describe, expect, it } from 'vitest';
import { defineAgent, runSession } from '../../src/index.ts';
import { RunMicrostepReplay } from '../../src/inspect/recorded/run-microstep-replay.ts';
import { Redactor } from '../../src/inspect/tape/redacted.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { report } from '../support/session.ts';

const secret = 'correct-horse-battery';
const without = (entries: readonly JournalEntry[], text = secret) =>
  JSON.parse(JSON.stringify(entries).replaceAll(text, '[redacted]')) as JournalEntry[];
/** The entries without what is recomputed from them. */
const digestsAside = (entries: readonly JournalEntry[]) =>
  entries.map((entry) => (entry.type === 'stepped' ? { ...entry, digest: '' } : entry));
const redacted = (entries: readonly JournalEntry[], ...secrets: string[]) =>
  new Redactor(() => secrets).takeEntries(entries);

describe('S-5 S-8: the journal of a workflow run without its secrets', () => {
  it('differs in its secrets alone, and replays to the end', async () => {
    const entries = await recordedRun();
    const clean = redacted(entries, secret);
    expect(digestsAside(clean)).toEqual(digestsAside(without(entries)));
    expect(JSON.stringify(clean)).not.toContain(secret);
    expect(clean.some((entry, index) => entry !== entries[index])).toBe(true);
    const replayed = new RunMicrostepReplay().play(clean);
    expect(replayed.difference).toBeNull();
    expect(replayed.told).toHaveLength(new RunMicrostepReplay().play(entries).told.length);
  });

  it('without any, it is the same to the letter', async () => {
    const entries = await recordedRun();
    const redactor = new Redactor(() => ['never said']);
    const clean = redactor.takeEntries(entries);
    expect(clean.every((entry, index) => entry === entries[index])).toBe(true);
    expect([redactor.changed, redactor.takeEntries([])]).toEqual([0, []]);
  });

  it('its start holds none, and keeps its limits', async () => {
    const entries = await recordedRun();
    const [first] = entries;
    const [clean] = redacted(entries, first?.type === 'run' ? first.head.input.run : '');
    if (first?.type !== 'run' || clean?.type !== 'run') throw new Error('it does not begin with its start');
    expect(clean.head.input).toEqual({ ...first.head.input, run: '[redacted]' });
    expect(clean.head.machines).toBe(first.head.machines);
  });

  it('of another format, it is refused (D-6)', async () => {
    const entries = await recordedRun();
    const older = entries.map((entry) =>
      entry.type === 'run' ? { ...entry, head: { ...entry.head, format: 3 } } : entry,
    );
    expect(() => redacted(older, secret)).toThrow(expect.objectContaining({ code: 'machines_changed' }));
  });
});

describe('S-5 S-8: the journal of a session without its secrets', () => {
  it('counts what changed, observations too, but no deltas', async () => {
    const entries = await recorded();
    const last = entries.at(-1);
    if (last?.type !== 'stepped') throw new Error('it does not end with a step');
    const sighted = (sighting: object) =>
      ({ scope: '', type: 'sighted', seq: last.seq, at: 1, sighting }) as JournalEntry;
    const warned = sighted({ type: 'model.warned', target: 'rehearsal/model', warning: `ignored ${secret}` });
    const delta = { type: 'model.delta', turn: 1, attempt: 1, part: 0, kind: 'text', callId: null, toolName: null };
    const redactor = new Redactor(() => [secret]);
    const clean = redactor.takeEntries([...entries, warned, sighted({ ...delta, delta: secret })]);
    expect(redactor.changed).toBe(1);
    expect(clean.slice(-2)).toEqual([...without([warned]), sighted({ ...delta, delta: '' })]);
  });

  it('what a step stated is shown without the secret too', async () => {
    const entries = await recorded();
    const steps = (of: readonly JournalEntry[]) => of.filter(({ type }) => type === 'stepped');
    expect(steps(redacted(entries, 'never said'))).toEqual(steps(entries));
    const stated = entries.map((entry) =>
      entry.type === 'stepped'
        ? { ...entry, facts: [...entry.facts, { type: 'session.steered', text: 'Say it.' }] }
        : entry,
    );
    const clean = JSON.stringify(redacted(stated, 'Say it'));
    expect(clean).not.toContain('Say it');
    expect(clean).toContain('"text":"[redacted]."');
  });
});

/** A session of one reply, which tells that it was asked to "Say it". */
async function recorded(): Promise<JournalEntry[]> {
  const journal = new MemoryJournal();
  const agent = defineAgent({ name: 'clerk', models: [rehearsalModel([report('said')])] });
  await runSession(agent, { prompt: 'Say it.', journal, sessionId: 's', logger: false });
  return JSON.parse(JSON.stringify(await journal.read('s')));
}

let once: Promise<JournalEntry[]> | undefined;

/** A run over three items, each of which fails with the secret in its reason. */
function recordedRun(): Promise<JournalEntry[]> {
  once ??= runRecorded();
  return once;
}

async function runRecorded(): Promise<JournalEntry[]> {
  const backlog = new TestBacklog();
  for (const number of [1, 2, 3]) backlog.bug(number);
  const journal = new MemoryJournal();
  const process = () => ({ status: 'failed', message: `the key is ${secret}` }) as const;
  await runOver(backlog, { process }, { journal, limits: { concurrency: 2 } });
  const [row] = await journal.list({ metadata: { role: 'run' } });
  return JSON.parse(JSON.stringify(await journal.read(row?.sessionId ?? '')));
}
