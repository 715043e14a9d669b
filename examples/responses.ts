/** An agent behind OpenAI's Responses API, for its official client: a response continues an earlier one. */
import OpenAI from 'openai';
import { defineAgent, sqliteJournal } from 'pawl';
import { serveOpenai } from 'pawl/openai';
import { model } from './model.ts';

const replies = [{ text: 'Hello, Ada.' }, { text: 'You are Ada.' }];
const agent = defineAgent({ name: 'companion', models: [model(...replies)], finish: 'text' });
const journal = sqliteJournal(':memory:');
await using server = await serveOpenai([agent], { journal, logger: false });

const client = new OpenAI({ baseURL: server.url, apiKey: 'none-needed' });
const { id } = await client.responses.create({ model: 'companion', input: 'Hi, I am Ada.' });
const stream = client.responses.stream({ model: 'companion', input: 'Who am I?', previous_response_id: id });
stream.on('response.output_text.delta', ({ delta }) => process.stdout.write(delta));
const { status, usage } = await stream.finalResponse();
console.log(`\n${status} ${usage?.input_tokens}`);
await journal.close();
// completed 10
