/** Lives a session that pays bills at a server, in a process that is killed: its arguments are a journal's file and the server. */
import { tool } from 'ai';
import { z } from 'zod';
import { defineAgent, resumeAll, sqliteJournal, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const [file = '', url = ''] = process.argv.slice(2);
const ask = async (key: string, init: RequestInit = {}) =>
  (await fetch(`${url}/payments/${encodeURIComponent(key)}`, init)).json() as Promise<{ paid: string | null }>;

const pay = {
  ...tool({
    inputSchema: z.object({ bill: z.string() }),
    execute: async ({ bill }, options) => {
      const { idempotencyKey } = options as unknown as { idempotencyKey: string };
      const { paid } = await ask(idempotencyKey, { method: 'POST', body: bill });
      return `paid ${paid}`;
    },
  }),
  reconcile: async ({ idempotencyKey }: { idempotencyKey: string }) => {
    const { paid } = await ask(idempotencyKey);
    return paid === null ? { notDone: true as const } : { done: `paid ${paid}` };
  },
};

/** From the prompt alone: six bills, two at a time, then the report. */
const model = rehearsalModel(({ prompt }) => {
  const answered = prompt.filter(({ role }) => role === 'tool').length;
  const bills = [0, 1].map((index) => ({ name: 'pay', input: { bill: `bill-${2 * answered + index}` } }));
  return answered < 3 ? { calls: bills } : { calls: [{ name: 'final_report', input: { content: 'All are paid.' } }] };
});
const agent = defineAgent({ name: 'payer', models: [model], tools: { pay } });
const journal = sqliteJournal(file, { leaseMs: 100 });
for (;;) {
  const { sessions, running } = await resumeAll([agent], { journal, logger: false });
  const [row] = await journal.list({});
  const [
    session = row === undefined
      ? startSession(agent, { prompt: 'Pay.', journal, sessionId: 's', logger: false })
      : null,
  ] = sessions;
  if (session !== null) {
    await session.result;
    break;
  }
  if (running.length === 0) break;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
await journal.close();
