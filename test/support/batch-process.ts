/** Runs a batch of documents in a process that is killed: its arguments are a journal's file or URL, and the URL of a model server. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { defineAgent, runBatch, sqliteJournal } from '../../src/index.ts';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';

const [where = '', url = ''] = process.argv.slice(2);
const model = createOpenAICompatible({ name: 'scripted', baseURL: url, apiKey: 'k', includeUsage: true })('scripted');
const agent = defineAgent({
  name: 'reader',
  models: [model],
  tools: { look: () => 'seen' },
  pricing: { 'scripted:scripted': { input: 1, output: 10 } },
});
const options = { leaseMs: 1_000 };
const journal = where.startsWith('postgres:') ? postgresJournal(where, options) : sqliteJournal(where, options);
const inputs = Array.from({ length: 200 }, (_, index) => `Read document ${index + 1}.`);
const summary = await runBatch(agent, inputs, {
  ...{ journal, name: 'docs', concurrency: 8, budget: { costUsd: 0.5 }, session: { logger: false }, progress: false },
  onItem: ({ id, status }) => void process.stdout.write(`${id} ${status}\n`),
});
await journal.close();
process.stdout.write(`summary ${JSON.stringify(summary)}\n`);
