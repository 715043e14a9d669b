import { expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { inspector } from '../../src/inspect/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { runWorkflow } from '../../src/workflow/index.ts';
import { TestBacklog } from '../support/backlog.ts';
import { report } from '../support/session.ts';

it('S-7 S-8: the sessions of a run can be watched, and say which run, role and item they are of', async () => {
  const backlog = new TestBacklog();
  backlog.bug(1);
  backlog.bug(2);
  await using shown = await inspector();
  const agent = defineAgent({ name: 'worker', models: [rehearsalModel(() => report('Done.'))] });
  const { status, run } = await runWorkflow({
    backlog: backlog.folder,
    agents: { process: agent },
    journal: shown.journal,
    logger: false,
  });
  expect(status).toBe('completed');
  const rows = await shown.journal.list({ metadata: { run, role: 'processing' } });
  expect(rows.map(({ metadata, status: ended }) => [metadata.item, ended]).sort()).toEqual([
    ['BUG-001', 'succeeded'],
    ['BUG-002', 'succeeded'],
  ]);
  expect(await shown.file(rows[0]?.sessionId ?? '')).toContain('id="tape"');
  const wrong = { backlog: backlog.folder, agents: { process: agent }, journal: 'pawl.db' };
  await expect(runWorkflow(wrong as never)).rejects.toThrow('`journal` must be a journal');
});
