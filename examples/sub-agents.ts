/** Agents as tools of another: each call is a session with its own bound, within one budget. */
import { defineAgent, runSession } from 'pawl';
import { model, report } from './model.ts';

const reader = (name: string, found: string) =>
  defineAgent({ name, description: `Reads ${name}.`, models: [model(report(found))], limits: { maxTurns: 3 } });
const task = (name: string) => ({ name, input: { prompt: 'How many pages?', reason: 'It has the book.' } });

const agent = defineAgent({
  name: 'editor',
  models: [model({ calls: [task('ulysses'), task('dubliners')] }, report('Ulysses is the longer one.'))],
  agents: { ulysses: reader('ulysses', '730 pages'), dubliners: reader('dubliners', '152 pages') },
  limits: { maxTreeRequests: 20 },
});

const { report: said, counters } = await runSession(agent, { prompt: 'Which is longer, Ulysses or Dubliners?' });
console.log(said.content, counters.tree.sessions, counters.tree.requests);
// Ulysses is the longer one. 3 4
