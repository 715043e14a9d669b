/** Two hundred documents, eight at a time, within one budget. With JOURNAL set, a second run resumes the batch. */
import { defineAgent, runBatch, sqliteJournal } from 'pawl';
import { z } from 'zod';
import { model, report } from './model.ts';

const documents = Array.from({ length: 200 }, (_, index) => ({
  id: `letter-${index + 1}`,
  prompt: `Who wrote this letter, and what do they want?\n\nDear all, it is ${index} degrees in here. Please heat. Eve`,
}));
const usage = { input: 120, output: 40 };
const agent = defineAgent({
  name: 'clerk',
  models: [model({ ...report({ writer: 'Eve', wants: 'heating' }), usage })],
  report: { format: 'json', schema: z.object({ writer: z.string(), wants: z.string() }) },
  pricing: { [process.env.MODEL ?? 'rehearsal:script']: { input: 0.25, output: 2 } },
});

const wishes = new Map<string, number>();
const journal = sqliteJournal(process.env.JOURNAL ?? ':memory:');
const { succeeded, failures, left, spent } = await runBatch(agent, documents, {
  ...{ journal, name: 'letters', concurrency: 8, budget: { costUsd: 0.1 }, session: { logger: false } },
  onItem: ({ result }) => {
    if (result?.success) wishes.set(result.report.content.wants, (wishes.get(result.report.content.wants) ?? 0) + 1);
  },
});
console.log(succeeded, 'read,', failures.length, 'failed,', left.length, 'left,', `$${spent.costUsd?.toFixed(4)}`);
console.log([...wishes].map(([wish, count]) => `${count} want ${wish}`).join(', '));
await journal.close();
// 200 read, 0 failed, 0 left, $0.0220
// 200 want heating
