import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import {
  type AgentDefinition,
  defineAgent,
  type Journal,
  type JournalEntry,
  resumeSession,
  runSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import type { StoredFact } from '../../src/journal/replay/stored-facts.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { dyingJournal, journalWith } from '../support/dying-journal.ts';
import { freshFile, inputSchema, workingAgent } from '../support/journaled.ts';
import { report } from '../support/session.ts';

describe('D-6: what cannot go on is refused, and stays as it was', () => {
  const unfinished = async (definition: Partial<AgentDefinition> = {}, journal = sqliteJournal(':memory:')) => {
    const dying = dyingJournal(journal, 6, 'after');
    startSession(workingAgent(definition).agent, {
      prompt: 'Go.',
      journal: dying.journal,
      sessionId: 's',
      logger: false,
    });
    await dying.died;
    return { journal, before: await journal.read('s') };
  };

  it('another agent: every difference is named', async () => {
    const { journal, before } = await unfinished();
    const other = defineAgent({
      name: 'other',
      models: [rehearsalModel([report()], { modelId: 'newer' })],
      limits: { maxTurns: 3, maxRetries: 2 },
      finish: 'text',
    });
    const error = await resumeSession(other, { journal, sessionId: 's', logger: false }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'agent_changed' });
    for (const part of [
      'name: was "working", is "other"',
      'the model rehearsal:script is missing',
      'finish: was "report", is "text"',
      'the tool work is missing',
    ]) {
      expect(error.message).toContain(part);
    }
    expect(await journal.read('s')).toEqual(before);
    const grown = workingAgent({
      tools: { work: tool({ inputSchema, execute: () => 'ok' }), more: tool({ inputSchema, execute: () => 'ok' }) },
    }).agent;
    expect((await (await resumeSession(grown, { journal, sessionId: 's', logger: false })).result).success).toBe(true);
  });

  it('a journal in which a step holds the sighting of a session that never started', async () => {
    const journal = sqliteJournal(':memory:');
    const dying = dyingJournal(journal, 6, 'after');
    const { agent } = workingAgent();
    startSession(agent, {
      prompt: 'Go.',
      journal: dying.journal,
      sessionId: 's',
      logger: false,
      onEvent: ({ type }) => {
        if (type === 'turn.started') throw new Error('the listener broke');
      },
    });
    await dying.died;
    const before = await journal.read('s');
    const first = before.findIndex(({ type }) => type === 'sighted');
    const wrong = before.map((entry, index) => (index === first ? { ...entry, scope: 'nowhere' } : entry));
    expect(wrong).not.toEqual(before);
    const resumed = resumeSession(agent, {
      journal: journalWith(journal, { read: async () => wrong }),
      sessionId: 's',
      logger: false,
    });
    await expect(resumed).rejects.toMatchObject({
      code: 'invalid_journal',
      message: 'The journal tells of a session "nowhere" that did not start.',
    });
    expect(await journal.read('s')).toEqual(before);
    expect((await (await resumeSession(agent, { journal, sessionId: 's', logger: false })).result).success).toBe(true);
  });

  it('another sub-agent', async () => {
    const helper = (finish: 'report' | 'text') =>
      defineAgent({ name: 'helper', models: [rehearsalModel([{ hangs: true }])], finish });
    const model = rehearsalModel([{ calls: [{ name: 'help', input: { prompt: 'Help.', reason: 'It is much.' } }] }]);
    const agent = (finish: 'report' | 'text') =>
      defineAgent({ name: 'asking', models: [model], agents: { help: helper(finish) } });
    const journal = sqliteJournal(':memory:');
    const session = startSession(agent('report'), { prompt: 'Go.', journal, sessionId: 's', logger: false });
    while (session.counters.toolCalls.requested === 0) await new Promise(setImmediate);
    for (let tick = 0; tick < 20; tick += 1) await new Promise(setImmediate);
    await session.suspend({ graceMs: 0 });
    const before = await journal.read('s');
    await expect(resumeSession(agent('text'), { journal, sessionId: 's', logger: false })).rejects.toMatchObject({
      code: 'agent_changed',
      message: expect.stringContaining('finish: was "report", is "text"'),
    });
    expect(await journal.read('s')).toEqual(before);
  });

  it('D-6a: other machines that decide otherwise, with the first difference; not those that say it in other words', async () => {
    const { journal, before } = await unfinished();
    const aged = (facts: (one: StoredFact) => StoredFact) =>
      before.map((entry): JournalEntry => {
        if (entry.type === 'started') return { ...entry, head: { ...entry.head, machines: 'older' } };
        return entry.type === 'stepped' ? { ...entry, facts: entry.facts.map(facts) } : entry;
      });
    const resume = (entries: JournalEntry[]) =>
      resumeSession(workingAgent().agent, {
        journal: journalWith(journal, { read: async (_, after = 0) => entries.slice(after) }),
        sessionId: 's',
        logger: false,
      });
    const isFirst = ({ type }: StoredFact) => type === 'turn.started';
    await expect(resume(aged((fact) => (isFirst(fact) ? { ...fact, isLastTurn: true } : fact)))).rejects.toMatchObject({
      code: 'machines_changed',
      message: expect.stringMatching(
        /^The session s cannot be resumed by this version of Pawl: entry 5 says "\{"type":"turn\.started".*"isLastTurn":true\}", and these machines decide "\{.*"isLastTurn":false\}"\.$/,
      ),
    });
    const worded = aged((fact) => (fact.type === 'tool.answered' ? { ...fact, tokens: 77 } : fact));
    expect((await (await resume(worded)).result).success).toBe(true);
  });

  it('a journal that leads elsewhere, or misses its beginning', async () => {
    const { journal, before } = await unfinished();
    const reads = (entries: JournalEntry[]) => journalWith(journal, { read: async () => entries });
    const tampered = before.map(
      (entry): JournalEntry =>
        entry.type === 'stepped' && entry.facts.some(({ type }) => type === 'turn.started')
          ? { ...entry, facts: entry.facts.slice(1) }
          : entry,
    );
    const agent = workingAgent().agent;
    const resume = (own: Journal) => resumeSession(agent, { journal: own, sessionId: 's', logger: false });
    await expect(resume(reads(tampered))).rejects.toMatchObject({
      code: 'invalid_journal',
      message: expect.stringContaining('entry 5'),
    });
    await expect(resume(reads(before.slice(1)))).rejects.toMatchObject({ code: 'invalid_journal' });
    await expect(resume(reads([]))).rejects.toMatchObject({ code: 'session_unknown' });
    // The lease was given back.
    expect((await (await resume(journal)).result).success).toBe(true);
  });

  it('tools that cannot be opened: nothing is written, and the session can be resumed later', async () => {
    const missing = join(tmpdir(), 'no-such-mcp-server');
    const { journal, before } = await unfinished({ mcpServers: { files: { command: missing, optional: true } } });
    const strict = workingAgent({ mcpServers: { files: { command: missing } } }).agent;
    await expect(resumeSession(strict, { journal, sessionId: 's', logger: false })).rejects.toMatchObject({
      code: 'tools_unavailable',
    });
    expect(await journal.read('s')).toEqual(before);
    const lenient = workingAgent({ mcpServers: { files: { command: missing, optional: true } } }).agent;
    expect((await (await resumeSession(lenient, { journal, sessionId: 's', logger: false })).result).success).toBe(
      true,
    );
  });

  it('files that are no journal of this version are left as they are', async () => {
    const text = freshFile();
    writeFileSync(text, 'Dear diary, this is a text of more than sixteen bytes.');
    expect(() => sqliteJournal(text)).toThrow(expect.objectContaining({ code: 'journal_failed' }));
    expect(readFileSync(text, 'utf8')).toContain('Dear diary');
    const foreign = freshFile();
    const database = new DatabaseSync(foreign);
    database.exec('CREATE TABLE mine (a TEXT)');
    database.close();
    expect(() => sqliteJournal(foreign)).toThrow(expect.objectContaining({ code: 'invalid_journal' }));
    const newer = freshFile();
    await sqliteJournal(newer).close();
    const bumped = new DatabaseSync(newer);
    bumped.exec('PRAGMA user_version = 99');
    bumped.close();
    expect(() => sqliteJournal(newer)).toThrow('is a journal of version 99; this release of Pawl reads version 4');
    expect(() => sqliteJournal(join(tmpdir(), 'no-such-folder', 'pawl.db'))).toThrow(
      expect.objectContaining({ code: 'journal_failed' }),
    );
    expect(() => sqliteJournal('  ')).toThrow(expect.objectContaining({ code: 'invalid_options' }));
    expect(() => sqliteJournal(newer, { leaseMs: -1 })).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  });

  it('a truncated file, and one whose entries are gone', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    await runSession(workingAgent().agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
    await journal.close();
    const database = new DatabaseSync(file);
    database.exec('DELETE FROM entries WHERE position > 4');
    database.close();
    const shortened = sqliteJournal(file);
    await expect(
      resumeSession(workingAgent().agent, { journal: shortened, sessionId: 's', logger: false }),
    ).rejects.toMatchObject({ code: 'invalid_journal' });
    await shortened.close();
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, Math.floor(bytes.length / 2)));
    const torn = () =>
      resumeSession(workingAgent().agent, { journal: sqliteJournal(file), sessionId: 's', logger: false });
    await expect((async () => torn())()).rejects.toMatchObject({ code: 'journal_failed' });
    expect(readFileSync(file)).toHaveLength(Math.floor(bytes.length / 2));
  });

  it('the file is readable by its owner alone; a read-only one fails the session before anything runs', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    await runSession(workingAgent().agent, { prompt: 'Go.', journal, logger: false });
    for (const end of ['', '-wal', '-shm']) {
      if (existsSync(file + end)) expect((statSync(file + end).mode & 0o777).toString(8)).toBe('600');
    }
    await journal.close();
    chmodSync(file, 0o400);
    const before = readFileSync(file);
    // Root may write to any file, unless it gives up that capability.
    const dropped = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override', '--inh-caps=-all'] : ['env'];
    const [command = '', ...flags] = dropped;
    const program = [process.execPath, '--no-warnings', 'test/support/journaled-run.ts', file];
    const { stdout } = spawnSync(command, [...flags, ...program], { encoding: 'utf8' });
    const slugs = ['journal_failed'];
    const detail = expect.stringContaining('readonly database');
    expect(JSON.parse(stdout)).toEqual({ status: 'failed', slugs, detail, requests: 0, worked: 0 });
    expect(readFileSync(file)).toEqual(before);
  });
});
