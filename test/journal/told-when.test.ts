import { tool } from 'ai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type AgentDefinition,
  defineAgent,
  idempotent,
  resumeSession,
  type SessionEvent,
  startSession,
  stopSession,
} from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema, quiet, workingAgent } from '../support/journaled.ts';
import { odd } from '../support/mcp.ts';
import { report } from '../support/session.ts';
import { settled, toldJournal } from '../support/told-journal.ts';

describe('D-3b: a session whose journal answers only when it is told', () => {
  it('begins nothing, and tells nobody of it, before the write is durable', async () => {
    const kept = new MemoryJournal();
    const told = toldJournal(kept, ['create', 'append', 'release']);
    const { agent, model, worked } = workingAgent();
    const events: SessionEvent[] = [];
    const session = startSession(agent, {
      prompt: 'Go.',
      ...quiet(told.journal),
      onEvent: (one) => void events.push(one),
    });
    let isOver = false;
    void session.result.then(() => {
      isOver = true;
    });
    const seen: [writes: number, requests: number, worked: number][] = [];
    for (let writes = 0; !isOver; writes += 1) {
      await settled();
      const before = [model.requests.length, worked.length, events.length];
      await settled();
      // Nothing more happens until the journal answers.
      expect([model.requests.length, worked.length, events.length]).toEqual(before);
      expect(isOver).toBe(told.waiting().length === 0);
      seen.push([writes, model.requests.length, worked.length]);
      // The marks of what has begun are in the journal by then.
      const marks = (await kept.read('s')).flatMap((entry) => (entry.type === 'begun' ? [entry.key] : []));
      expect(marks.filter((key) => key.endsWith('/model')).length).toBeGreaterThanOrEqual(model.requests.length);
      expect(marks.filter((key) => key.includes('/tool')).length).toBeGreaterThanOrEqual(worked.length);
      await told.answer();
    }
    expect((await session.result).status).toBe('succeeded');
    expect((await kept.list({}))[0]?.status).toBe('succeeded');
    expect(seen.at(-1)?.slice(1)).toEqual([2, 1]);
    // Each request and each tool came after writes of its own.
    const first = (index: 1 | 2, count: number) => seen.find((one) => one[index] === count)?.[0] ?? -1;
    expect(first(1, 1)).toBeGreaterThan(2);
    expect(first(2, 1)).toBeGreaterThan(first(1, 1));
    expect(first(1, 2)).toBeGreaterThan(first(2, 1));
  });

  it('D-3f: that is resumed is told of once its beginning is durable, and not before', async () => {
    const kept = new MemoryJournal();
    const { agent } = workingAgent({ tools: { work: tool({ inputSchema, needsApproval: true, execute: () => 1 }) } });
    const session = startSession(agent, { prompt: 'Go.', ...quiet(kept) });
    for await (const event of session.events) if (event.type === 'tool.approvalRequested') break;
    await session.suspend();
    const told = toldJournal(kept, ['append']);
    const heard: string[] = [];
    const resuming = resumeSession(agent, { ...quiet(told.journal), onEvent: ({ type }) => void heard.push(type) });
    await settled();
    expect([told.waiting(), heard]).toEqual([['append'], []]);
    await told.answer();
    const again = await resuming;
    expect(heard).toEqual(['session.resumed', 'tool.approvalRequested']);
    again.abort('enough');
    while (told.waiting().length > 0 || heard.at(-1) !== 'session.aborted') {
      await told.answer();
      await settled();
    }
    await told.answer();
  });

  it('P-1: is not the provider that is late', async () => {
    const clock = manualClock();
    const told = toldJournal(new MemoryJournal({ leaseMs: 10 ** 9 }), ['append']);
    const { agent, model } = workingAgent({
      limits: { modelTimeoutMs: 1_000, modelIdleTimeoutMs: 1_000, maxRetries: 1 },
    });
    const session = startSession(agent, { prompt: 'Go.', ...quiet(told.journal), clock });
    let result: Awaited<typeof session.result> | null = null;
    void session.result.then((one) => {
      result = one;
    });
    while (result === null) {
      await settled();
      // A minute passes before each answer.
      clock.advance(60_000);
      await settled();
      await told.answer();
    }
    expect(result).toMatchObject({ status: 'succeeded', counters: { requests: 2, failedAttempts: 0, slugs: {} } });
    expect(model.requests).toHaveLength(2);
  });

  it('D-3g: takes no message before its lease is renewed', async () => {
    const kept = new MemoryJournal({ leaseMs: 120 });
    const { agent } = workingAgent({ tools: { work: tool({ inputSchema, needsApproval: true, execute: () => 1 }) } });
    const told = toldJournal(kept, ['renew']);
    const session = startSession(agent, { prompt: 'Go.', ...quiet(told.journal) });
    for await (const event of session.events) if (event.type === 'tool.approvalRequested') break;
    await expect.poll(() => told.waiting().length).toBe(1);
    // From here on, a message that is taken would be delivered.
    expect(await stopSession(kept, 's')).toBe(true);
    await settled();
    expect(await kept.inbox('s')).toHaveLength(1);
    expect(told.waiting()).toEqual(['renew']);
    let isOver = false;
    void session.result.then(() => {
      isOver = true;
    });
    while (!isOver) {
      await told.answer();
      await settled();
    }
    expect((await session.result).status).toBe('succeeded');
  });
});

/** The ways in which a call begins something: a new kind of tool needs a row. `act` is called when it has begun. */
const ways: Record<string, (act: () => void) => Partial<AgentDefinition> & { input?: object; name?: string }> = {
  'a function': (act) => ({ tools: { work: act } }),
  'a tool of the SDK': (act) => ({ tools: { work: tool({ inputSchema, execute: () => act() }) } }),
  'the start of a tool of the SDK': (act) => ({
    tools: { work: tool({ inputSchema, onInputAvailable: () => act(), execute: () => act() }) },
  }),
  'a tool that yields': (act) => ({
    tools: {
      work: tool({
        inputSchema,
        async *execute() {
          act();
          yield 1;
        },
      }),
    },
  }),
  'an idempotent tool': (act) => ({ tools: { work: idempotent(tool({ inputSchema, execute: () => act() })) } }),
  'a tool of a batch': (act) => ({
    tools: { work: act },
    builtIns: { batch: true },
    ...{ name: 'batch', input: { calls: [{ tool: 'work', input: {} }] } },
  }),
  'a tool of an MCP server': () => ({ mcpServers: { odd: odd() }, ...{ name: 'odd__echo', input: { text: 'x' } } }),
  'a sub-agent': (act) => ({
    agents: {
      work: defineAgent({
        name: 'work',
        models: [
          rehearsalModel(() => {
            act();
            return report();
          }),
        ],
      }),
    },
    input: { prompt: 'Go.', reason: 'It can.' },
  }),
};

describe.each(Object.entries(ways))('D-3g: %s', (_, make) => {
  afterEach(() => void vi.useRealTimers());

  it('does not begin without a lease that holds', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_000_000 });
    const journal = new MemoryJournal({ leaseMs: 1_000 });
    const begun: string[] = [];
    const { name = 'work', input = {}, tools = {}, ...definition } = make(() => void begun.push('begun'));
    // It begins with the call, and stops the process for longer than the lease: another process takes the session.
    const stop = () => {
      vi.advanceTimersByTime(1_001);
      void journal.lease('s', 'another');
    };
    const model = rehearsalModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'stop' }, { name, input }] },
    );
    const agent = defineAgent({ name: 'tested', models: [model], tools: { stop, ...tools }, ...definition });
    const result = await startSession(agent, { prompt: 'Go.', ...quiet(journal) }).result;
    expect(result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    expect(begun).toEqual([]);
  });
});
