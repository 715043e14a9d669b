import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, PawlError } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { readConfig } from '../../src/workflow/backlog/config.ts';
import { runWorkflow, type WorkFunction } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const needy = { name: 'needy', models: [rehearsalModel([])] };
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
    [
      { agents: { process: defineAgent({ ...needy, contextSchema: z.object({ user: z.string() }) }) } },
      'A run gives its agents no `context`, and `agents.process` needs one: `context (for the agent needy)` is required: ' +
        'what its schema says. Invalid input: expected object, received undefined',
    ],
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

  it.each([
    ['{"duplicate_threshold": 7}', '`duplicate_threshold` must be a number from 0 to 1; got 7. The default holds.'],
    ['{"auto_commit": "yes"}', '`auto_commit` must be true or false; got "yes". The default holds.'],
    ['{"agents": ["a"]}', '`agents` must be an object of agent names by role; got ["a"]. The default holds.'],
    [
      '{"agents": {"process": 5}}',
      '`agents.process` must be the name or the path of an agent file; got 5. The default holds.',
    ],
    [
      '{"agents": {"scann": "a"}}',
      '`agents.scann` must be a role: scan, process, test, retrospective, summary; got "a". The default holds.',
    ],
    ['[]', '`the file` must be a JSON object; got []. The defaults hold.'],
  ])('%s in .agent-config.json is a problem, and does not end the run', async (text, problem) => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', text);
    backlog.bug(1);
    const { result, report } = await runOver(backlog, { process: () => ({ status: 'succeeded' }) });
    expect(result).toMatchObject({ status: 'completed', succeeded: ['BUG-001'] });
    expect(result.problems).toEqual([`.agent-config.json: ${problem}`]);
    expect(report).toContain(problem);
  });

  it('a broken .agent-config.json does not either; others name the threshold otherwise', async () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', '{"auto_commit": true,}');
    const { result } = await runOver(backlog, { process: () => ({ status: 'succeeded' }) });
    expect(result.problems).toEqual([
      expect.stringMatching(/^\.agent-config\.json is not JSON: .*The defaults hold\.$/s),
    ]);
    backlog.write('.agent-config.json', '{"duplicate_similarity_threshold": 0.9, "of_others": 1}');
    expect(readConfig(backlog.folder)).toMatchObject({ duplicate_threshold: 0.9, problems: [] });
  });
});
