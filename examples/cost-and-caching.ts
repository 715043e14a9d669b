/** What a session cost, and a budget that ends it in time. */
import { defineAgent, runSession } from 'pawl';
import { call, model, report } from './model.ts';

const usage = { input: 20_000, output: 500, cacheRead: 15_000 };
const agent = defineAgent({
  name: 'reader',
  models: [
    model({ ...call('read'), usage }, { ...call('read'), usage }, { ...report('So far: two chapters.'), usage }),
  ],
  tools: { read: () => 'a chapter' },
  // US dollars per million tokens, by the target's name.
  pricing: { [process.env.MODEL ?? 'rehearsal:script']: { input: 3, output: 15, cacheRead: 0.3 } },
});

const { report: said, counters } = await runSession(agent, {
  prompt: 'Read the book.',
  budget: { costUsd: 0.05 },
  logger: false,
});
console.log(said.content, `$${counters.costUsd?.toFixed(4)}`, counters.tokens.cacheRead, counters.collapses);
// So far: two chapters. $0.0810 45000 1
