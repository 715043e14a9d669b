import { expect, it } from 'vitest';
import { listed, ScriptedServer } from '../../support/scripted-server.ts';
import { counters, report, runOverWire, tokensOf } from '../../support/session.ts';

it('C-1: a result that is nested too deeply is an answer, and the other calls of its server go on', async () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  const answered = Promise.withResolvers<object>();
  const call = ({ name }: { name: string }) =>
    name === 'deep' ? { content: [], structuredContent: { deep } } : answered.promise;
  const server = () =>
    new ScriptedServer({ 'tools/list': { tools: [listed('deep'), listed('slow')] }, 'tools/call': call });
  const { result, events } = await runOverWire({
    script: [{ calls: [{ name: 's__slow' }, { name: 's__deep' }] }, report()],
    definition: { mcpServers: { s: { transport: server } } },
    during: (event) => {
      if (event.type === 'tool.answered' && event.name === 's__deep')
        answered.resolve({ content: [{ type: 'text', text: 'So.' }] });
    },
  });
  expect(events.filter(({ type }) => type === 'server.lost')).toEqual([]);
  expect(result.counters).toEqual(
    counters({
      turns: 2,
      attempts: 2,
      toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 1, failed: 1, acknowledged: 1 },
      reports: { attempted: 1 },
      tokens: tokensOf(2),
      costUsd: null,
    }),
  );
});
