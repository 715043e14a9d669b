/**
 * A process that lives sessions of every step: `node living-process.ts JOURNAL FOLDER URL ID...`. It starts or resumes
 * each, waits for leases that others hold, and writes what it logs and how each ends to files in the folder.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import {
  PawlError,
  resumeSession,
  type Session,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';
import { steppingAgent } from './every-step.ts';

const [where = '', folder = '', url = '', ...ids] = process.argv.slice(2);
const options = { leaseMs: 400 };
const journal = where.startsWith('postgres:') ? postgresJournal(where, options) : sqliteJournal(where, options);

const log = (level: string) => (line: object) =>
  appendFileSync(join(folder, 'log'), `${JSON.stringify({ level, ...line })}\n`);
const logger = { debug: () => {}, info: () => {}, warn: log('warn'), error: log('error') };

/** Another process has the session, or the journal's server is away. */
function unlessBusy(error: unknown): null {
  if (error instanceof PawlError && ['session_taken', 'journal_failed'].includes(error.code)) return null;
  throw error;
}

async function live(sessionId: string): Promise<void> {
  const note = ['--no-warnings', join(import.meta.dirname, 'note-mcp.ts'), join(folder, `${sessionId}.effects`)];
  const mcpServers = { notes: { command: process.execPath, args: note } };
  const agent = steppingAgent(url, join(folder, `${sessionId}.effects`), ids.length === 1 ? mcpServers : {}, sessionId);
  let session: Session | null = null;
  const asked: SessionEvent[] = [];
  const approve = (event: SessionEvent) => {
    if (event.type !== 'tool.approvalRequested') return;
    if (session === null) asked.push(event);
    else session.approve(event.callId, { approved: true });
  };
  const own = { journal, sessionId, logger, onEvent: (event: SessionEvent) => queueMicrotask(() => approve(event)) };
  for (;;) {
    const listed = await journal.list({ sessionId }).catch(unlessBusy);
    if (listed === null) {
      await setTimeout(50);
      continue;
    }
    if (listed.length === 0) {
      session = startSession(agent, { ...own, prompt: 'Do it all.' });
    } else {
      session = await resumeSession(agent, own).catch(unlessBusy);
    }
    for (const event of asked) approve(event);
    const result = await session?.result;
    // Another process was first, or has taken it since.
    if (result === undefined || result.slugs.includes('journal_failed')) {
      session = null;
      await setTimeout(50);
      continue;
    }
    appendFileSync(join(folder, `${sessionId}.result`), `${JSON.stringify(result)}\n`);
    return;
  }
}

process.stdout.write('begun\n');
await Promise.all(ids.map(live));
await journal.close();
process.exit(0);
