import assert from 'node:assert/strict';
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
