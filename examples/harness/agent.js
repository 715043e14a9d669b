/** What runs in the sandbox: an agent with a tool, on a model that follows a script. */
import { tool } from 'ai';
import { defineAgent } from 'pawl';
import { rehearsalModel } from 'pawl/testing';
import { z } from 'zod';

const weather = tool({
  description: 'Tells the weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Rain in ${city}.`,
});
const model = rehearsalModel([
  {},
  { calls: [{ name: 'weather', input: { city: 'Bonn' } }] },
  { text: 'Take an umbrella.' },
]);
export default defineAgent({ name: 'forecaster', models: [model], tools: { weather }, finish: 'text' });
