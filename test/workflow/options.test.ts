import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { PawlError } from '../../src/index.ts';
import { runWorkflow, type WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });

describe('before anything runs', () => {
  it('a second run on the same backlog is refused with an error that names the first process', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    let refusal: unknown = null;
    const other = { backlog: backlog.folder, agents: { process: succeeds } };
    const { result } = await runOver(backlog, {
      process: async () => {
        refusal = await runWorkflow(other).catch((error) => error);
        const child = spawn(process.execPath, ['test/support/dying-run.ts', backlog.folder], {
          stdio: ['ignore', 'ignore', 'pipe'],
        });
        let said = '';
        child.stderr.on('data', (data) => {
          said += data;
        });
        await once(child, 'close');
        return { status: 'succeeded', message: said };
      },
    });
    expect(refusal).toBeInstanceOf(PawlError);
    expect(refusal).toMatchObject({
      code: 'backlog_locked',
      message: expect.stringContaining(`process ${process.pid}, since`),
    });
    expect(result.succeeded).toEqual(['BUG-001']);
    // The lock is free again.
    expect(await runWorkflow(other)).toMatchObject({ status: 'completed' });
  });

  it.each([
    [{ agents: {} }, '`agents.process` is required: an agent made by defineAgent, { name, load } or a function.'],
    [
      { agents: { process: succeeds, test: 'tester' } },
      '`agents.test` must be an agent made by defineAgent, { name, load } or a function; got "tester".',
    ],
    [
      { agents: { process: succeeds, review: succeeds } },
      'Unknown option `agents.review`. Options: scan, process, test, retrospective, summary.',
    ],
    [
      { limits: { maxConsecutiveFailures: 0 } },
      '`limits.maxConsecutiveFailures` must be an integer of at least 1; got 0.',
    ],
    [{ backlog: '/nowhere' }, 'Backlog folder not found: "/nowhere" (it does not exist).'],
    [{ dryRun: true }, 'Unknown option `dryRun`.'],
  ])('invalid options are refused: %o', async (over, message) => {
    const backlog = new TestBacklog();
    const options = { backlog: backlog.folder, agents: { process: succeeds }, ...over };
    await expect(runWorkflow(options as never)).rejects.toThrow(message);
    expect(backlog.list('.')).toEqual(['.git']);
  });

  it('an error in .agent-config.json names the file and the field', async () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', '{"duplicate_threshold": 7}');
    await expect(runWorkflow({ backlog: backlog.folder, agents: { process: succeeds } })).rejects.toThrow(
      '`.agent-config.json.duplicate_threshold` must be a number from 0 to 1; got 7.',
    );
  });
});
