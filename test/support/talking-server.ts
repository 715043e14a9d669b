/** A process that serves an agent over stdio, whose session tells of its progress until it is aborted. */
import { defineAgent, serveMcp } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const agent = defineAgent({
  name: 'talker',
  models: [rehearsalModel(() => ({ calls: [{ name: 'talk', input: {} }] }))],
  limits: { maxTurns: 1_000_000 },
  tools: {
    talk: async () => {
      await new Promise(setImmediate);
      return 'x'.repeat(1_000);
    },
  },
});
const tell = (line: string) => process.stderr.write(`${line}\n`);
const onEvent = ({ type }: { type: string }) => {
  if (type === 'session.aborted') tell(type);
};
const served = await serveMcp(agent, { transport: 'stdio', logger: false, onEvent });
await served.closed;
tell('closed');
