/** What a turn may do, decided before it begins. */
import { defineAgent, runSession } from 'pawl';
import { call, model, report } from './model.ts';

const agent = defineAgent({
  name: 'writer',
  models: [model(call('write'), call('search'), call('write'), report('Written.'))],
  tools: { search: () => 'facts', write: () => 'written' },
  // Nothing is written before something was found.
  prepareTurn: ({ counters }) => (counters.tools.search === undefined ? { activeTools: ['search'] } : {}),
});

const { report: said, counters } = await runSession(agent, { prompt: 'Write about harbours.', logger: false });
console.log(said.content, counters.toolCalls.rejected, Object.keys(counters.tools));
// Written. { tool_not_permitted: 1 } [ 'search', 'write' ]
