/** Runs twenty sessions at once against one target, as one process of several: its argument is the URL of a model server. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { defineAgent, startSession } from '../../src/index.ts';

const [url = ''] = process.argv.slice(2);
const model = createOpenAICompatible({ name: 'scripted', baseURL: url, apiKey: 'k' })('scripted');
const agent = defineAgent({ name: 'reader', models: [model], tools: { look: () => 'seen' } });
const sessions = Array.from({ length: 20 }, () => startSession(agent, { prompt: 'Read.', logger: false }).result);
const statuses = (await Promise.all(sessions)).map(({ status }) => status);
process.stdout.write(JSON.stringify(statuses));
