/** The files of a new project, by name. */
export function templates(name: string, version: string): Record<string, string> {
  return {
    'package.json': `${JSON.stringify(
      {
        name,
        private: true,
        type: 'module',
        scripts: { start: 'pawl chat --agent agent.js', test: 'node --test' },
        dependencies: { '@ai-sdk/openai': '^4.0.0', ai: '^7.0.77', pawl: `^${version}`, zod: '^4.1.8' },
      },
      null,
      2,
    )}\n`,
    'catalogue.js': catalogue,
    'agent.js': agent,
    'agent.test.js': test,
  };
}

const catalogue = `import { tool } from 'ai';
import { z } from 'zod';

const shelves = { ulysses: 'B4', dubliners: 'B5', 'moby-dick': 'M1' };

/** A tool: what it returns is what the model reads. */
export const findBook = tool({
  description: 'Finds a book in the catalogue, by its title.',
  inputSchema: z.object({ title: z.string() }),
  execute: ({ title }) => {
    const shelf = shelves[title.toLowerCase().replaceAll(' ', '-')];
    return shelf === undefined ? \`There is no "\${title}".\` : { title, shelf };
  },
});
`;

const agent = `import { defineAgent } from 'pawl';
import { findBook } from './catalogue.js';

/** Sends at most maxTurns x maxRetries requests in a session, whatever the model does. */
export const definition = {
  name: 'librarian',
  instructions: 'You are a librarian. Look books up before you speak of them.',
  models: ['openai:gpt-5-mini'],
  tools: { findBook },
  limits: { maxTurns: 6, maxRetries: 3 },
};

export default defineAgent(definition);
`;

const test = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineAgent, runSession } from 'pawl';
import { rehearsalModel } from 'pawl/testing';
import { definition } from './agent.js';

/** The agent with a model that says what the test wants. It needs no key. */
function rehearsed(...replies) {
  return defineAgent({ ...definition, models: [rehearsalModel(replies)] });
}

test('looks a book up, and reports where it is', async () => {
  const agent = rehearsed(
    { calls: [{ name: 'findBook', input: { title: 'Ulysses' } }] },
    { calls: [{ name: 'final_report', input: { content: 'Ulysses is on shelf B4.' } }] },
  );
  const result = await runSession(agent, { prompt: 'Where is Ulysses?', logger: false });
  assert.equal(result.status, 'succeeded');
  assert.equal(result.report.content, 'Ulysses is on shelf B4.');
  assert.deepEqual(result.counters.tools.findBook.calls, 1);
});

test('a model that says nothing ends within the bound, with a reason', async () => {
  const result = await runSession(rehearsed({}), { prompt: 'Where is Ulysses?', logger: false });
  assert.equal(result.status, 'failed');
  assert.deepEqual(result.slugs, ['retries_exhausted', 'empty_response']);
  assert.equal(result.counters.requests, 3);
});
`;
