import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, report, run, runOverWire } from '../support/session.ts';

describe('large results', () => {
  it('a cut result can be read in pages, to the last byte', async () => {
    const text = Array.from({ length: 3_000 }, (_, index) => `line ${index} äöü€😀`).join('\n');
    const read: string[] = [];
    const model = rehearsalModel(({ index, prompt }) => {
      const last = prompt.at(-1);
      const part = last?.role === 'tool' ? last.content[0] : undefined;
      const seen = part?.type === 'tool-result' && part.output.type === 'text' ? part.output.value : '';
      if (index === 0) return { calls: [{ name: 'large' }] };
      const id = /id (r[\d_]+)/.exec(seen)?.[1] ?? 'r1_1_0';
      const [, page = '0', of = '1'] = /^\[page (\d+) of (\d+)/.exec(seen) ?? [];
      if (page !== '0') read.push(seen.slice(seen.indexOf('\n') + 1));
      if (page === of) return report();
      return { calls: [{ name: 'read_result', input: { id, page: Number(page) + 1 } }] };
    });
    const agent = defineAgent({
      name: 'reader',
      models: [model],
      tools: { large: () => text },
      builtIns: { readResult: true },
      limits: { toolResultBytes: 8_192, maxTurns: 40 },
    });
    const { result } = await run({ agent });
    expect(result.success).toBe(true);
    expect(read.join('')).toBe(text);
    for (const { output } of callsIn(result)) {
      expect(Buffer.byteLength(output.type === 'text' ? output.value : '')).toBeLessThanOrEqual(8_192);
    }
  });

  it.each(['head', 'tail'])(
    'S-5: a result that is cut in the middle of a secret shows no part of it (%s)',
    async (side) => {
      const secret = 'hunter2-of-mine-and-no-other';
      const half = (8_192 - 140) / 2;
      const filler = 'x'.repeat(half - 10);
      const text = side === 'head' ? filler + secret + 'y'.repeat(9_000) : 'y'.repeat(9_000) + secret + filler;
      async function* large() {
        yield text;
        yield text;
      }
      const agent = defineAgent({
        name: 'reader',
        models: [rehearsalModel([{ calls: [{ name: 'large' }] }, report()])],
        tools: { large },
        secrets: [secret],
        limits: { toolResultBytes: 8_192 },
      });
      const { result, events, lines } = await run({ agent });
      expect(result.success).toBe(true);
      expect(events.filter(({ type }) => type === 'tool.progressed').length).toBeGreaterThan(0);
      for (const told of [JSON.stringify(events), JSON.stringify(lines)]) {
        expect(told).not.toContain('hunter2');
        expect(told).not.toContain('no-other');
      }
    },
  );

  const long = 'line\n'.repeat(4_000);
  it.each<[string, unknown, string]>([
    ['the output that the tool made for the model', { short: true }, long],
    ['the output, even if the value is longer', long.repeat(2), long],
    ['the output, even if the value has its own JSON form', { text: long, toJSON: () => 'short' }, long],
  ])('the pages hold %s', async (_what, value, output) => {
    const read: string[] = [];
    const model = rehearsalModel(({ index, prompt }) => {
      const last = prompt.at(-1);
      const part = last?.role === 'tool' ? last.content[0] : undefined;
      const seen = part?.type === 'tool-result' && part.output.type === 'text' ? part.output.value : '';
      if (index === 0) return { calls: [{ name: 'large' }] };
      if (index > 1) read.push(seen.slice(seen.indexOf('\n') + 1));
      if (index === 4) return report();
      return { calls: [{ name: 'read_result', input: { id: 'r1_1_0', page: index } }] };
    });
    const large = {
      inputSchema: z.object({}),
      execute: () => value,
      toModelOutput: () => ({ type: 'text' as const, value: output }),
    };
    const limits = { toolResultBytes: 8_192 };
    const { result } = await run({
      agent: defineAgent({ name: 'reader', models: [model], tools: { large }, builtIns: { readResult: true }, limits }),
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, null, null, null, null]);
    expect(read.join('')).toBe(output);
  });

  it('a result that is asked for before it exists can be read once it does', async () => {
    const asking = { calls: [{ name: 'read_result', input: { id: 'r2_1_0' } }] };
    const { result } = await run({
      agent: defineAgent({
        ...{
          name: 'reader',
          tools: { large: () => long },
          builtIns: { readResult: true },
          limits: { toolResultBytes: 8_192 },
        },
        models: [rehearsalModel([asking, { calls: [{ name: 'large' }] }, asking, report()])],
      }),
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual(['tool_exec_failed', null, null, null]);
    expect(JSON.stringify(callsIn(result)[2]?.output)).toContain('line');
  });

  it('nothing is kept or promised if the model has no tool to read it', async () => {
    const { result, events } = await runOverWire({
      script: [{ calls: [{ name: 'large' }] }, report()],
      definition: { tools: { large: () => long }, limits: { toolResultBytes: 8_192 } },
    });
    expect(events.find((event) => event.type === 'tool.answered')).toMatchObject({ kept: null });
    expect(JSON.stringify(callsIn(result)[0]?.output)).not.toContain('read_result');
  });

  it('reading an unknown result fails', async () => {
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'read_result', input: { id: 'r9' } }] }, report()],
      definition: { builtIns: { readResult: true } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: 'tool_exec_failed' });
  });

  it.each([
    ['a value', { rows: 'x'.repeat(50_000) }, { message: 'The tool succeeded.' }],
    ['a message', { success: true, value: null, message: 'y'.repeat(50_000) }, { value: null }],
    ['a failure', { success: false, message: 'z'.repeat(50_000) }, { value: null, success: false }],
  ])('D-3: %s over `keptResultBytes` is kept as the model sees it, everywhere', async (_, returned, kept) => {
    const journal = new MemoryJournal();
    const model = rehearsalModel([{ calls: [{ name: 'large' }] }, report()]);
    const agent = defineAgent({
      ...{ name: 'reader', models: [model], tools: { large: () => returned }, builtIns: { readResult: true } },
      limits: { toolResultBytes: 8_192, keptResultBytes: 40_000 },
    });
    const { result, events } = await run({ agent, options: { journal } });
    const [call] = callsIn(result);
    expect(call?.result).toMatchObject(kept);
    const text = String(call?.result.value ?? call?.result.message);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8_192);
    expect(text).toContain('the result was too large');
    expect(call?.output).toMatchObject({ value: text });
    for (const told of [events, await journal.read(result.sessionId)])
      expect(Buffer.byteLength(JSON.stringify(told))).toBeLessThan(40_000);
  });
});
