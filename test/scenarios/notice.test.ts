import { describe, expect, it } from 'vitest';
import { slugs, slugTable } from '../../machines/index.ts';
import { lastText, report, runOverWire } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

type Block = { type: string; text?: string; cache_control?: unknown };
const blocksOf = (message: { content?: unknown } | undefined): Block[] =>
  Array.isArray(message?.content) ? message.content : [];

describe('the notice', () => {
  it('N-1 N-3: on the Anthropic wire it is last, sent once and unmarked; the cache mark is on the last permanent message', async () => {
    const { requests, result } = await runOverWire({
      wire: 'anthropic',
      script: [searchCall, { text: 'thinking aloud' }, searchCall, report()],
      definition: { tools: { search }, instructions: 'You search.' },
    });
    expect(result.counters.notices).toBe(1);
    const [, , third, fourth] = requests;
    const last = blocksOf(third?.body.messages.at(-1));
    const notice = last.at(-1);
    expect(notice?.text).toMatch(/^system notice: /);
    expect(notice?.cache_control).toBeUndefined();
    const marked = third?.body.messages.flatMap(blocksOf).filter((block) => block.cache_control !== undefined) ?? [];
    expect(marked).toHaveLength(1);
    expect(marked[0]).toMatchObject({ type: 'tool_result' });
    expect(blocksOf({ content: third?.body.system }).at(-1)?.cache_control).toEqual({ type: 'ephemeral' });
    expect(JSON.stringify(fourth?.body)).not.toContain('system notice: ');
    expect(JSON.stringify(result.conversation)).not.toContain('system notice: ');
  });

  it('N-3: a user cache mark on the whole call is removed, because it would mark the notice', async () => {
    const { requests } = await runOverWire({
      wire: 'anthropic',
      script: [{}, report()],
      definition: { settings: { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } } },
    });
    const marked =
      requests[1]?.body.messages.flatMap(blocksOf).filter((block) => block.cache_control !== undefined) ?? [];
    expect(marked.map((block) => block.text)).toEqual(['Do the task.']);
    expect(requests[1]?.body.cache_control).toBeUndefined();
  });

  it('N-1: it states what went wrong, why the turn did not progress, and what to do', async () => {
    const { requests } = await runOverWire({
      script: [{ calls: [{ name: 'nope' }] }, report()],
      definition: { tools: { search } },
    });
    const text = lastText(requests[1] ?? expect.fail());
    expect(text).toContain(slugTable.unknown_tool.happened);
    expect(text).toContain('Turn 1 did not progress');
    expect(text).toContain(slugTable.unknown_tool.todo);
    expect(text).toContain('unknown_tool');
  });

  it('N-1: after a provider fault it states that the reply did not arrive', async () => {
    const { requests } = await runOverWire({ script: [{ status: 500 }, report()] });
    expect(lastText(requests[1] ?? expect.fail())).toContain('your reply did not arrive');
  });

  it('N-2: on the last turn the single notice includes the advice', async () => {
    const { requests } = await runOverWire({ script: [{}, report()], definition: { limits: { maxTurns: 1 } } });
    const notices = requests.map(({ body }) => JSON.stringify(body.messages).split('system notice: ').length - 1);
    expect(notices).toEqual([1, 1]);
    expect(lastText(requests[1] ?? expect.fail())).toMatch(/your last reply was empty.*This is the last turn/);
  });

  it('N-4: the table has a row with both sentences for every slug', () => {
    expect(Object.keys(slugTable).toSorted()).toEqual([...slugs].toSorted());
    for (const { happened, todo } of Object.values(slugTable))
      expect([happened, todo].every((text) => text.length > 5)).toBe(true);
  });
});
