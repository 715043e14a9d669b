/** Pawl. `defaults`: an agent as it is. `best`: with a journal, so that a loop that was killed goes on. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { jsonSchema, tool } from 'ai';
import { defineAgent, resumeSession, sqliteJournal, startSession } from 'pawl';
import { call, say, task } from './tools.js';

const { baseUrl: baseURL, wire, model } = task;
const provider =
  wire === 'anthropic'
    ? createAnthropic({ baseURL, apiKey: 'none' })
    : createOpenAICompatible({ name: 'torture', baseURL, includeUsage: true });
const tools = Object.fromEntries(
  task.tools.map(({ name, description, inputSchema }) => [
    name,
    tool({ description, inputSchema: jsonSchema(inputSchema), execute: (input) => call(name, input) }),
  ]),
);
const agent = defineAgent({
  name: 'clerk',
  instructions: task.instructions,
  models: [provider(model)],
  tools,
  limits: { maxTurns: 10, maxRetries: task.maxRequests / 10 },
});
const isBest = task.settings === 'best';
const journal = isBest ? { journal: sqliteJournal(`${task.state}/pawl.db`, { leaseMs: 1_000 }) } : {};
const options = { ...journal, sessionId: task.id, logger: false };
async function resumed() {
  try {
    return await resumeSession(agent, options);
  } catch (error) {
    // Until the lease of the process that was killed has run out.
    if (error.code !== 'session_taken') throw error;
    return new Promise((resolve) => setTimeout(resolve, 200)).then(resumed);
  }
}
const session = isBest && task.run > 1 ? await resumed() : startSession(agent, { ...options, prompt: task.prompt });
const { success, report, slugs } = await session.result;
say(success ? 'done' : 'failed', success ? report.content : slugs.join(', '));
