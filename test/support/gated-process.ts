/**
 * Runs twenty sessions at once against one target, as one process of several. Its arguments: the URL of a model server, and
 * that of a database where the processes share a gate for three requests at once; without it, each has its own.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { defineAgent, startSession } from '../../src/index.ts';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';

const [url = '', database] = process.argv.slice(2);
const model = createOpenAICompatible({ name: 'scripted', baseURL: url, apiKey: 'k' })('scripted');
const journal = database === undefined ? null : postgresJournal(database);
const shared = journal === null ? {} : { limits: { concurrency: 3 }, gate: { name: 'account', journal } };
const agent = defineAgent({ name: 'reader', models: [{ model, ...shared }], tools: { look: () => 'seen' } });
const sessions = Array.from({ length: 20 }, () => startSession(agent, { prompt: 'Read.', logger: false }).result);
const statuses = (await Promise.all(sessions)).map(({ status }) => status);
process.stdout.write(JSON.stringify(statuses));
await journal?.close();
