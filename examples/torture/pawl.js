/** Pawl. `defaults`: an agent as it is. `best`: a bound, and a journal with keys for calls, so that it goes on if killed. */
import { jsonSchema, tool } from 'ai';
import { defineAgent, idempotent, resumeSession, sqliteJournal, startSession } from 'pawl';
import { sdkModel } from './sdk-model.js';
import { call, say, task } from './tools.js';

const { maxRequests } = task;
const isBest = task.settings === 'best';
const made = ({ name, description, inputSchema }) => ({
  [name]: idempotent(
    tool({
      ...{ description, inputSchema: jsonSchema(inputSchema) },
      execute: (input, { idempotencyKey }) => call(name, input, isBest ? idempotencyKey : undefined),
    }),
  ),
});
const agent = defineAgent({
  name: 'clerk',
  instructions: task.instructions,
  models: [sdkModel],
  tools: Object.assign({}, ...task.tools.map(made)),
  ...(isBest && { limits: { maxTurns: 10, maxRetries: Math.max(1, Math.floor(maxRequests / 10)) } }),
});
const journal = isBest ? { journal: sqliteJournal(`${task.state}/pawl.db`, { leaseMs: 1_000 }) } : {};
const options = { ...journal, sessionId: task.id, logger: false };
// Until the lease of the process that was killed has run out.
const resumed = () =>
  resumeSession(agent, options).catch((error) => {
    if (error.code !== 'session_taken') throw error;
    return new Promise((resolve) => setTimeout(resolve, 200)).then(resumed);
  });
const session = isBest && task.run > 1 ? await resumed() : startSession(agent, { ...options, prompt: task.prompt });
const { success, report, slugs } = await session.result;
say(success ? 'done' : 'failed', success ? report.content : slugs.join(', '));
