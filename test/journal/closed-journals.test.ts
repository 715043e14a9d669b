import { tool } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, sqliteJournal, startSession } from '../../src/index.ts';
import { WatchedJournal } from '../../src/inspect/live/watched-journal.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

it.each(['plain', 'watched'])(
  'D-3: a session that waits ends as suspended when its journal is closed: %s',
  async (kind) => {
    const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 'paid' });
    const models = [rehearsalModel(() => ({ calls: [{ name: 'pay' }] }))];
    const agent = defineAgent({ name: 'paying', models, tools: { pay } });
    const journal = kind === 'plain' ? sqliteJournal(':memory:') : new WatchedJournal(sqliteJournal(':memory:'));
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const failed: string[] = [];
    const onEvent = ({ type }: { type: string }) => {
      if (type === 'tool.approvalRequested') asked();
      if (type === 'observer.failed') failed.push(type);
    };
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false, onEvent });
    await isAsked;
    expect(journal.isClosed).toBe(false);
    await journal.close();
    expect(journal.isClosed).toBe(true);
    expect(await session.result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    expect(failed).toEqual([]);
  },
);
