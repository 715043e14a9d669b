import { describe, expect, it } from 'vitest';
import { type BatchItem, defineAgent, runBatch, sharedBudget, sqliteJournal } from '../../src/index.ts';
import { assertInvariants, rehearsalModel, startModelServer } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { wireModel } from '../support/session.ts';

const quiet = { session: { logger: false }, progress: false } as const;
const report = (content: string) => ({ calls: [{ name: 'final_report', input: { content } }] });
const promptIn = (body: unknown) => /document (\w+)/.exec(JSON.stringify(body))?.[1] ?? '';
const documents = (count: number) => Array.from({ length: count }, (_, index) => `Read document ${index + 1}.`);

describe('a batch: a session for each input', () => {
  it('over the wire: a few at once, each result as it comes, the failures apart, and a summary', async () => {
    const seen = { open: 0, most: 0 };
    await using server = await startModelServer(async ({ body }) => {
      seen.open += 1;
      seen.most = Math.max(seen.most, seen.open);
      await new Promise(setImmediate);
      seen.open -= 1;
      const name = promptIn(body);
      return name === '7' ? { status: 401 } : { ...report(`read ${name}`), usage: { input: 100, output: 10 } };
    });
    const agent = defineAgent({
      name: 'reader',
      models: [wireModel('openai', server.url)],
      pricing: { 'scripted:scripted': { input: 1, output: 10 } },
    });
    const items: BatchItem<string>[] = [];
    const summary = await runBatch(agent, documents(20), {
      ...{ ...quiet, concurrency: 3 },
      onItem: (item) => void items.push(item),
    });
    expect(seen.most).toBeLessThanOrEqual(3);
    for (const { result } of items) if (result !== null) assertInvariants(result);
    const contents = items.flatMap(({ index, result }) =>
      result?.success ? [[index + 1, result.report.content]] : [],
    );
    expect(contents.toSorted(([one], [other]) => Number(one) - Number(other))).toEqual(
      documents(20).flatMap((_, index) => (index === 6 ? [] : [[index + 1, `read ${index + 1}`]])),
    );
    expect(summary).toEqual({
      ...{ total: 20, succeeded: 19, left: [], durationMs: expect.any(Number) },
      failures: [{ id: '7', status: 'failed', slugs: ['no_targets', 'provider_auth'], detail: expect.any(String) }],
      spent: { requests: 20, tokens: 19 * 110, costUsd: expect.closeTo(19 * 0.0002, 9) },
    });
  });

  it('resumes by its name: what has ended is not run again, and a larger budget takes up the rest', async () => {
    const journal = sqliteJournal(':memory:');
    const model = rehearsalModel(({ prompt }) => ({
      ...report(`read ${promptIn(prompt)}`),
      usage: { input: 100, output: 10 },
    }));
    const agent = defineAgent({ name: 'reader', models: [model] });
    const run = (requests: number, onItem = (_: BatchItem<string>) => {}) => {
      const budget = sharedBudget({ requests, journal, name: 'nightly' });
      return runBatch(agent, documents(10), { ...quiet, name: 'docs', journal, concurrency: 2, budget, onItem });
    };
    const first = await run(4);
    expect(first.succeeded).toBeGreaterThanOrEqual(3);
    expect(first.failures).toEqual([]);
    expect(first.left.length).toBe(10 - first.succeeded);
    expect(model.requests.length).toBe(first.succeeded);
    const contents = new Set<string>();
    const second = await run(30, ({ result }) => void (result?.success && contents.add(result.report.content)));
    expect(second).toMatchObject({ succeeded: 10, left: [], failures: [], spent: { requests: 10, tokens: 1_100 } });
    expect([model.requests.length, contents.size]).toEqual([10, 10]);
    expect((await journal.list({})).length).toBe(10);
    await journal.close();
  });

  it('B-8e: two runs at once, over two connections to a journal, share its inputs, and each tells of all', async () => {
    const file = freshFile();
    const journals = [sqliteJournal(file, { leaseMs: 1_000 }), sqliteJournal(file, { leaseMs: 1_000 })];
    await using server = await startModelServer(async ({ body }) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { ...report(`read ${promptIn(body)}`), usage: { input: 100, output: 10 } };
    });
    const agent = defineAgent({ name: 'reader', models: [wireModel('openai', server.url)] });
    const told = journals.map(() => new Set<string>());
    const summaries = await Promise.all(
      journals.map((journal, run) =>
        runBatch(agent, documents(20), {
          ...{ ...quiet, name: 'docs', journal, concurrency: 3 },
          onItem: ({ result }) => void (result?.success && told[run]?.add(result.report.content)),
        }),
      ),
    );
    for (const summary of summaries)
      expect(summary).toMatchObject({ total: 20, succeeded: 20, failures: [], left: [], spent: { requests: 20 } });
    expect([server.requests.length, ...told.map(({ size }) => size)]).toEqual([20, 20, 20]);
    for (const journal of journals) await journal.close();
  });

  it('B-8e: a run that is stopped while it waits for another leaves that input', async () => {
    const file = freshFile();
    const [first, second] = [sqliteJournal(file), sqliteJournal(file)];
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    await using server = await startModelServer(async ({ body }) => {
      asked.resolve();
      await answer.promise;
      return report(`read ${promptIn(body)}`);
    });
    const agent = defineAgent({ name: 'reader', models: [wireModel('openai', server.url)] });
    const one = runBatch(agent, documents(1), { ...quiet, name: 'docs', journal: first });
    await asked.promise;
    const controller = new AbortController();
    const { lease } = second;
    second.lease = (...args) => {
      setImmediate(() => controller.abort());
      return lease.apply(second, args);
    };
    const options = { ...quiet, name: 'docs', journal: second, signal: controller.signal };
    expect(await runBatch(agent, documents(1), options)).toMatchObject({ succeeded: 0, failures: [], left: ['1'] });
    answer.resolve();
    expect(await one).toMatchObject({ succeeded: 1, failures: [], left: [] });
    for (const journal of [first, second]) await journal.close();
  });

  it('B-8e: an input starts over if another run deleted the session that it had started for it', async () => {
    const journal = sqliteJournal(':memory:');
    const { list } = journal;
    journal.list = async (query) =>
      query.idPrefix === undefined ? list.call(journal, query) : ([{ sessionId: 'docs/1' }] as never);
    const model = rehearsalModel(({ prompt }) => report(`read ${promptIn(prompt)}`));
    const agent = defineAgent({ name: 'reader', models: [model] });
    const summary = await runBatch(agent, documents(1), { ...quiet, name: 'docs', journal });
    expect(summary).toMatchObject({ succeeded: 1, failures: [], left: [], spent: { requests: 1 } });
    await journal.close();
  });

  it('a signal stops it: what runs is suspended, and goes on in the next run', async () => {
    const journal = sqliteJournal(':memory:');
    const controller = new AbortController();
    const model = rehearsalModel(async ({ prompt }) => {
      if (promptIn(prompt) === '3') controller.abort();
      await new Promise(setImmediate);
      return report(`read ${promptIn(prompt)}`);
    });
    const agent = defineAgent({ name: 'reader', models: [model] });
    const options = { ...quiet, name: 'docs', journal, concurrency: 2 };
    const first = await runBatch(agent, documents(8), { ...options, signal: controller.signal });
    expect(first.succeeded + first.left.length).toBe(8);
    expect(first.left.length).toBeGreaterThanOrEqual(4);
    const second = await runBatch(agent, documents(8), options);
    expect(second).toMatchObject({ succeeded: 8, left: [], failures: [] });
    await journal.close();
  });

  it('an input may say what its session is given, and what `onItem` throws ends the batch', async () => {
    const model = rehearsalModel(() => report('done'));
    const agent = defineAgent({ name: 'reader', models: [model] });
    const seen: unknown[] = [];
    const inputs = [{ id: 'a', prompt: 'Read.', metadata: { file: 'a.txt' } }, { id: 'b', prompt: ' ' }, 'Read b.'];
    const summary = await runBatch(agent, inputs, {
      ...{ ...quiet, concurrency: 1, session: { logger: false, metadata: { batch: 'x' } } },
      onItem: ({ id, status, result }) => void seen.push([id, status, result?.metadata ?? null]),
    });
    expect(seen).toEqual([
      ['a', 'succeeded', { batch: 'x', file: 'a.txt' }],
      ['b', 'refused', null],
      ['3', 'succeeded', { batch: 'x' }],
    ]);
    expect(summary.failures).toEqual([
      { id: 'b', status: 'refused', slugs: [], detail: expect.stringContaining('`prompt` must be') },
    ]);
    const onItem = () => {
      throw new Error('the disk is full');
    };
    await expect(runBatch(agent, documents(50), { ...quiet, concurrency: 1, onItem })).rejects.toThrow(
      'the disk is full',
    );
    expect(model.requests.length).toBeLessThan(10);
  });

  it.each<[string, unknown, unknown, string]>([
    ['inputs that are no list', 'Read.', {}, '`inputs` must be an array of inputs; got "Read.".'],
    ['an empty input', [''], {}, '`inputs[0]`'],
    [
      'a concurrency of none',
      ['a'],
      { concurrency: 0 },
      '`options.concurrency` must be an integer of at least 1; got 0.',
    ],
    ['an unknown option', ['a'], { jounal: 1 }, 'Unknown option `options.jounal`.'],
    ['a journal without a name', ['a'], { journal: sqliteJournal(':memory:') }, 'needs a `name`'],
    [
      'the same id twice',
      [
        { id: 'x', prompt: 'a' },
        { id: 'x', prompt: 'b' },
      ],
      {},
      'two inputs with the id "x"',
    ],
    ['a budget of another kind', ['a'], { budget: 5 }, '`options.budget` must be a budget made by sharedBudget'],
    [
      'a negative budget',
      ['a'],
      { budget: { tokens: -1 } },
      '`options.budget.tokens` must be a number above 0; got -1.',
    ],
    ['a budget without prices', ['a'], { budget: { costUsd: 1 } }, 'needs a price for every model'],
    [
      'unknown options of sessions',
      ['a'],
      { session: { loger: false } },
      'Unknown option `loger`. Did you mean `logger`?',
    ],
  ])('bad input is told before anything runs: %s', async (_, inputs, options, message) => {
    const agent = defineAgent({ name: 'reader', models: [rehearsalModel(() => report('no'))] });
    await expect(runBatch(agent, inputs as never, options as never)).rejects.toThrow(message);
  });
});
