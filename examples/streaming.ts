/** Text as it comes, and the events around it. */
import { defineAgent, startSession } from 'pawl';
import { call, model } from './model.ts';

const agent = defineAgent({
  name: 'guide',
  models: [model({ ...call('look'), text: 'Let me see. ' }, { text: 'It is a harbour.' })],
  tools: { look: () => 'ships' },
  finish: 'text',
});

const session = startSession(agent, { prompt: 'Where are we?' });
for await (const event of session.events) {
  if (event.type === 'model.delta' && event.kind === 'text') process.stdout.write(event.delta);
  // Text of an attempt that failed does not count.
  if (event.type === 'attempt.failed') process.stdout.write('\n(that did not count)\n');
  if (event.type === 'tool.answered') process.stdout.write(`[${event.name}] `);
}
console.log();
// Let me see. [look] It is a harbour.
