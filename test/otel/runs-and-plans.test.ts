import { context, SpanStatusCode } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { openTelemetry } from '../../src/otel/open-telemetry.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { done, runOver, TestBacklog } from '../support/backlog.ts';
import { kept, traced, tree } from '../support/otel.ts';
import { report } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

const withBug = () => {
  const backlog = new TestBacklog();
  backlog.bug(1);
  return backlog;
};

describe('S-4: a run of a workflow', () => {
  const agent = (name: string) => defineAgent({ name, models: [rehearsalModel(() => done())] });

  it('is a span around its sessions, and is measured with the agents', async () => {
    const given = kept();
    const telemetry = openTelemetry(given.providers);
    const { result } = await runOver(withBug(), { process: agent('worker'), test: agent('tester') }, { telemetry });
    expect(result.status).toBe('completed');
    const [[run, ...sessions] = []] = tree(given.spans()) as unknown[][];
    expect(run).toMatch(/^invoke_workflow /);
    expect(sessions.map((one) => (one as unknown[])[0])).toEqual(['invoke_agent worker', 'invoke_agent tester']);
    const [span] = given.spans().filter(({ name }) => name.startsWith('invoke_workflow'));
    expect(span).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'gen_ai.operation.name': 'invoke_workflow', 'pawl.status': 'succeeded' },
    });
    const measured = (await given.points()).filter(({ name }) => name === 'gen_ai.invoke_agent.duration');
    expect(measured.map(({ of }) => of['gen_ai.operation.name']).sort()).toEqual([
      ...['invoke_agent', 'invoke_agent', 'invoke_workflow'],
    ]);
  });

  it('that is aborted is an error', async () => {
    const given = kept();
    const aborting = new AbortController();
    const process = () => {
      aborting.abort(new Error('home time'));
      return { status: 'succeeded' as const };
    };
    const telemetry = openTelemetry(given.providers);
    const { result } = await runOver(withBug(), { process }, { telemetry, signal: aborting.signal });
    expect(result.status).toBe('exitedEarly');
    const [span] = given.spans();
    expect(span).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'aborted' },
      attributes: { 'error.type': 'aborted', 'pawl.status': 'aborted' },
    });
  });

  it.each(['run', 'around', 'ended'] as const)('goes on if its telemetry throws in %s', async (at) => {
    const given = kept();
    const own = openTelemetry(given.providers);
    const broken = () => {
      throw new Error('no telemetry');
    };
    const telemetry = {
      ...own,
      run: at === 'run' ? broken : (about: never) => ({ ...own.run?.(about), [at]: broken }) as never,
    };
    const { result, warnings } = await runOver(withBug(), { process: agent('worker') }, { telemetry });
    expect(result.succeeded).toEqual(['BUG-001']);
    expect(warnings.filter(({ event }) => event === 'observer.failed')).toMatchObject([{ name: 'telemetry' }]);
  });
});

describe('S-4: the plan of a turn', () => {
  it('is a span of its own, within that of the session and before the turn', async () => {
    const { all } = await traced({
      script: [searchCall, report()],
      definition: { name: 'librarian', tools: { search }, prepareTurn: async () => ({ activeTools: ['search'] }) },
    });
    expect(tree(all)).toEqual([
      [
        'invoke_agent librarian',
        'plan librarian',
        ['turn 1', ['chat scripted', 'execute_tool search']],
        'plan librarian',
        ['turn 2', 'chat scripted'],
      ],
    ]);
    const plans = all.filter(({ name }) => name === 'plan librarian');
    expect(plans.map(({ attributes }) => attributes)).toMatchObject([
      { 'gen_ai.operation.name': 'plan', 'gen_ai.agent.name': 'librarian', 'pawl.turn': 1 },
      { 'pawl.turn': 2 },
    ]);
  });

  it('that throws ends with its session', async () => {
    const { all, result } = await traced({
      script: [report()],
      definition: {
        prepareTurn: () => {
          throw new Error('no plan');
        },
      },
    });
    const [plan] = all.filter(({ name }) => name.startsWith('plan'));
    expect(plan).toMatchObject({ status: { code: SpanStatusCode.ERROR } });
    expect(plan?.attributes['error.type']).toBe(result.slugs[0]);
  });
});
