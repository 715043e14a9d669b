/** The conversation goes to another agent, within the same bound. */
import { defineAgent, runSession } from 'pawl';
import { call, model } from './model.ts';

const billing = defineAgent({
  name: 'billing',
  description: 'Knows every invoice.',
  models: [model(call('invoices'), { text: 'Invoice 7 was charged twice; it is refunded.' })],
  tools: { invoices: () => ['invoice 7, charged twice'] },
  finish: 'text',
});
const desk = defineAgent({
  name: 'desk',
  instructions: 'You greet, and hand over what concerns money.',
  models: [model(call('transfer_to_billing'))],
  handoffs: { billing },
  finish: 'text',
});

const { report, handedTo, counters } = await runSession(desk, { prompt: 'Why was I charged twice?' });
console.log(handedTo, counters.requests, report.content);
// billing 3 Invoice 7 was charged twice; it is refunded.
