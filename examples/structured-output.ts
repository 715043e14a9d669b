/** A report with a schema: it is checked, and typed. */
import { defineAgent, runSession } from 'pawl';
import { z } from 'zod';
import { model, report } from './model.ts';

const schema = z.object({ name: z.string(), year: z.int() });
const agent = defineAgent({
  name: 'extractor',
  // The first report breaks the schema: the model is told why, and gives another.
  models: [model(report({ name: 'Ulysses', year: 'in 1922' }), report({ name: 'Ulysses', year: 1922 }))],
  report: { format: 'json', schema },
});

const result = await runSession(agent, { prompt: 'Joyce published Ulysses in 1922.', logger: false });
if (result.success) {
  const { name, year } = result.report.content;
  console.log(name, year + 100, result.counters.reports);
}
// Ulysses 2022 { attempted: 2, rejected: 1 }
