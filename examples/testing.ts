/** Every path that a session can take within its bound, run for real. */
import { defineAgent, runSession } from 'pawl';
import { assertInvariants, rehearsalModel, sessionPaths } from 'pawl/testing';

const limits = { maxTurns: 2, maxRetries: 2 };
const paths = sessionPaths(limits, { call: { name: 'look', input: {} } });
for (const { replies, expected } of paths) {
  const agent = defineAgent({
    name: 'tested',
    models: [rehearsalModel(replies)],
    tools: { look: () => 'seen' },
    limits,
  });
  const result = await runSession(agent, { prompt: 'Look around.', logger: false });
  assertInvariants(result, { limits });
  if (result.status !== expected.status) throw new Error(`expected ${expected.status}, got ${result.status}`);
}
console.log(`${paths.length} paths, no promise broken`);
// 133 paths, no promise broken
