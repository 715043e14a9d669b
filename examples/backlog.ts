/** A backlog, worked through item by item; what fails becomes an item of its own. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent } from 'pawl';
import { createWorkItem, runWorkflow } from 'pawl/workflow';
import { model, report } from './model.ts';

const backlog = mkdtempSync(join(tmpdir(), 'pawl-backlog-'));
await createWorkItem(backlog, {
  item_type: 'bug',
  title: 'The door squeaks',
  component: 'door',
  description: 'Oil it.',
});
const worker = defineAgent({
  name: 'worker',
  models: [model(report({ status: 'succeeded', message: 'Oiled.' }))],
  report: { format: 'json' },
});

const { status, succeeded } = await runWorkflow({ backlog, agents: { process: worker }, logger: false });
console.log(status, succeeded.length);
// completed 1
