import { DatabaseSync } from 'node:sqlite';
import { eventLoopTurn } from '../../host/clock.ts';
import type { Journal, JournalEntry, JournaledSession } from '../../journal/journal.ts';
import { billOf, billTotal } from '../../journal/replay/bill.ts';
import { redact } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { ruleFacts } from '../study/rules.ts';
import { textsIn } from '../study/written.ts';
import { readQuery } from './query.ts';

/** What a search found. `indexed` of `sessions` have been read so far. */
export type Found = {
  hits: { sessionId: string; snippet: string }[];
  total: number;
  indexed: number;
  sessions: number;
};

/** What a session was about, and what its tree spent so far. */
export type SessionSummary = {
  sessionId: string;
  /** The beginning of its prompt. */
  prompt: string;
  turns: number;
  requests: number;
  tokens: number;
  /** US dollars; null where a price is unknown. */
  costUsd: number | null;
  /** The session that it left. */
  forkOf: string | null;
  /** What its tree asked and called, and the rules that left a fact in it. */
  targets: string[];
  tools: string[];
  rules: string[];
};

const mostHits = 500;
const mostPromptCharacters = 200;

/** How many of the hits show where they match. */
const mostSnippets = 100;

const schema = `
  CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, status TEXT NOT NULL, updated INTEGER NOT NULL,
    slugs TEXT NOT NULL, targets TEXT NOT NULL, tools TEXT NOT NULL, facts TEXT NOT NULL
  ) STRICT;
  CREATE VIRTUAL TABLE texts USING fts5(text);
`;

/** An index of what the sessions of a journal said and did. It is in memory, and follows the journal. */
export class SessionIndex {
  private readonly journal: Journal;
  private readonly secrets: () => readonly string[];
  private readonly database = new DatabaseSync(':memory:');
  private readonly read = new Map<string, number>();
  private readonly summaries = new Map<string, SessionSummary>();
  private sessions = 0;
  private reading: Promise<void> | null = null;

  constructor(journal: Journal, secrets: () => readonly string[]) {
    this.journal = journal;
    this.secrets = secrets;
    this.database.exec(schema);
  }

  /** Searches the sessions indexed so far and continues indexing. Throws `invalid_options` for an invalid query. */
  search(text: string): Found {
    // A failure reaches the caller that awaits `follow`.
    void this.follow().catch(() => undefined);
    const { words, fields, facts, since } = readQuery(text, Date.now());
    const { agent, status, slug, target, tool } = fields;
    const conditions: [string, string[]][] = [
      ['agent = ?', agent],
      ['status = ?', status],
      ["instr(lower(slugs), ' ' || lower(?) || ' ')", slug],
      ["instr(lower(targets), ' ' || lower(?) || ' ')", target],
      ["instr(lower(tools), ' ' || lower(?) || ' ')", tool],
    ];
    const where = ['updated >= ?', ...conditions.flatMap(([sql, values]) => values.map(() => sql))];
    const values = [since, ...conditions.flatMap(([, given]) => given)];
    for (const types of facts) {
      where.push(`(${types.map(() => "instr(facts, ' ' || ? || ' ')").join(' OR ')})`);
      values.push(...types);
    }
    const isText = words.length > 0;
    const match = words
      .map(({ text: word, isPhrase }) => `"${word.replaceAll('"', '""')}"${isPhrase ? '' : '*'}`)
      .join(' ');
    const from = isText ? 'sessions JOIN texts ON texts.rowid = number' : 'sessions';
    const sql = `FROM ${from} WHERE ${[...where, ...(isText ? ['texts MATCH ?'] : [])].join(' AND ')}`;
    // In the same query, SQLite would make the snippets of all that match before it sorts them.
    const snippets = this.database.prepare(
      "SELECT snippet(texts, 0, '[', ']', '…', 12) AS snippet FROM texts WHERE texts MATCH ? AND rowid = ?",
    );
    const found = this.database
      .prepare(`SELECT id, number ${sql} ORDER BY updated DESC`)
      .all(...values, ...(isText ? [match] : [])) as { id: string; number: number }[];
    const hits = found.slice(0, mostHits).map(({ id, number }, index) => {
      const row = isText && index < mostSnippets ? snippets.get(match, rowid(number)) : undefined;
      return { sessionId: id, snippet: String(row?.snippet ?? '') };
    });
    return { hits, total: found.length, indexed: this.read.size, sessions: this.sessions };
  }

  /** What is known of a session, as it was indexed last; null before that. */
  summaryOf(sessionId: string): SessionSummary | null {
    return this.summaries.get(sessionId) ?? null;
  }

  /** Indexes new sessions in the background. Resolves once all are indexed that can be read. */
  async follow(): Promise<void> {
    this.reading ??= this.readAll().finally(() => {
      this.reading = null;
    });
    await this.reading;
  }

  close(): void {
    this.database.close();
  }

  private async readAll(): Promise<void> {
    const rows = await this.journal.list({});
    this.sessions = rows.length;
    const there = new Set(rows.map(({ sessionId }) => sessionId));
    for (const sessionId of this.read.keys()) if (!there.has(sessionId)) this.remove(sessionId);
    for (const row of rows) {
      if (this.read.get(row.sessionId) === row.entries) {
        this.update(row);
        continue;
      }
      this.remove(row.sessionId);
      try {
        this.add(row, await this.journal.read(row.sessionId));
        this.read.set(row.sessionId, row.entries);
      } catch {
        // Its own page says why; a search says that not all sessions were read. The next look tries again.
      }
      await eventLoopTurn();
    }
  }

  /** A status changes without an entry when the process of a session dies. */
  private update({ sessionId, status, updatedAt }: JournaledSession): void {
    this.database
      .prepare('UPDATE sessions SET status = ?, updated = ? WHERE id = ? AND (status <> ? OR updated <> ?)')
      .run(status, updatedAt, sessionId, status, updatedAt);
  }

  private remove(sessionId: string): void {
    this.read.delete(sessionId);
    this.summaries.delete(sessionId);
    const known = this.database.prepare('SELECT number FROM sessions WHERE id = ?').get(sessionId);
    if (known === undefined) return;
    this.database.prepare('DELETE FROM texts WHERE rowid = ?').run(rowid(known.number));
    this.database.prepare('DELETE FROM sessions WHERE number = ?').run(rowid(known.number));
  }

  private add(
    { sessionId, agent, status, updatedAt, slugs }: JournaledSession,
    entries: readonly JournalEntry[],
  ): void {
    const contents = contentsOf(entries);
    const { texts, targets, tools, facts } = contents;
    const secrets = writtenSecrets(this.secrets());
    const text = redact(texts.join('\n'), secrets);
    this.summaries.set(sessionId, { sessionId, ...summaryIn(entries, secrets), ...namesIn(contents, secrets) });
    const list = (words: Iterable<string>) => ` ${[...words].join(' ')} `;
    const { lastInsertRowid } = this.database
      .prepare(
        'INSERT INTO sessions (id, agent, status, updated, slugs, targets, tools, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      )
      .run(sessionId, agent, status, updatedAt, list(slugs), list(targets), list(tools), list(facts));
    this.database.prepare('INSERT INTO texts (rowid, text) VALUES (?, ?)').run(rowid(lastInsertRowid), text);
  }
}

function summaryIn(entries: readonly JournalEntry[], secrets: readonly string[]) {
  const { head, requests } = billOf(entries);
  const { usage, costUsd } = billTotal(requests);
  const turns = requests.filter((one) => one.sessionId === head?.sessionId).map(({ turn }) => turn);
  return {
    // Cut after the secrets are out, so that none is left in half.
    prompt: redact(head?.prompt ?? '', secrets)
      .slice(0, mostPromptCharacters)
      .toWellFormed(),
    turns: Math.max(0, ...turns),
    requests: requests.length,
    tokens: usage.input + usage.output,
    costUsd,
    forkOf: head?.fork?.of ?? null,
  };
}

/** A model may call a tool that is not there, by any name. */
function namesIn({ targets, tools, facts }: ReturnType<typeof contentsOf>, secrets: readonly string[]) {
  const rules = Object.entries(ruleFacts).flatMap(([rule, types]) =>
    types.some((one) => facts.has(one)) ? [rule] : [],
  );
  return { targets: [...targets], tools: [...tools].map((name) => redact(name, secrets)), rules };
}

/** A number of a row: Node binds a number as a REAL, for which FTS5 finds another row, or none. */
function rowid(number: unknown): bigint {
  return BigInt(Number(number));
}

/** What a session said and did, as far as one searches for it. */
function contentsOf(entries: readonly JournalEntry[]) {
  const texts: string[] = [];
  const [targets, tools, facts] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const entry of entries) {
    if (entry.type === 'started') {
      for (const target of entry.head.input.targets) targets.add(target);
      if (entry.head.prompt !== null) texts.push(entry.head.prompt);
    }
    if (entry.type === 'stepped') for (const { type } of entry.facts) facts.add(type);
    const isDelivery = entry.type === 'delivered' || entry.type === 'run.delivered';
    if (!isDelivery || !('outcome' in entry.delivery)) continue;
    const { outcome } = entry.delivery;
    textsIn(outcome, texts);
    const { calls } = (outcome ?? {}) as { calls?: { name: string }[] };
    if (Array.isArray(calls)) for (const { name } of calls) tools.add(name);
  }
  return { texts, targets, tools, facts };
}
