import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { allow, type ReportFormat } from '../../src/index.ts';
import { callsIn, report, runOverWire } from '../support/session.ts';

const call = { calls: [{ name: 'save', input: {} }] };

/** Waits in real time, for time limits on user code. */
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the input of a call is checked once', () => {
  it('policies, approval and the tool get the same values, even if a schema generates them', async () => {
    const seen: unknown[] = [];
    const note = ({ id }: Record<string, unknown>) => seen.push(id);
    const save = {
      inputSchema: z.object({ id: z.string().default(() => randomUUID()) }),
      needsApproval: (input: { id: string }) => note(input) < 0,
      execute: (input: { id: string }) => note(input),
    };
    const { result } = await runOverWire({
      script: [call, call, report()],
      definition: {
        tools: { save },
        toolPolicies: [
          (judged, history) => {
            for (const past of history) note(past.input);
            note(judged.input);
            return allow;
          },
        ],
      },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, null, null]);
    const [first, , , , second] = seen;
    expect(seen).toEqual([first, first, first, first, second, second, second]);
    expect(first).not.toBe(second);
  });

  it('T-2: a schema that accepts a value only once lets its tool run', async () => {
    const used = new Set<string>();
    const isNew = (nonce: string) => !used.has(nonce) && used.add(nonce) !== undefined;
    const inputSchema = z.object({ nonce: z.string().default('a').refine(isNew, 'already used') });
    const { result } = await runOverWire({
      script: [call, call, report()],
      definition: { tools: { save: { inputSchema, execute: () => 'saved' } } },
    });
    expect(callsIn(result).map(({ slug, executed }) => [slug, executed])).toEqual([
      [null, true],
      ['invalid_tool_input', false],
      [null, false],
    ]);
  });

  it('an input check does not use up the timeout of its tool', async () => {
    const inputSchema = z.object({}).refine(async () => (await pause(150)) === undefined);
    const execute = () => pause(150).then(() => 'saved');
    const { result } = await runOverWire({
      script: [call, report()],
      definition: { tools: { save: { inputSchema, execute } }, limits: { toolTimeoutMs: 250 } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: null });
  });

  it('a schema that fails once does not block later calls', async () => {
    let checks = 0;
    const flaky = z.object({}).refine(() => {
      checks += 1;
      if (checks > 1) throw new Error('the database is down');
      return true;
    });
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'flaky', input: {} }] }, call, report()],
      definition: {
        tools: { flaky: { inputSchema: flaky, execute: () => 'done' }, save: () => 'saved' },
        toolPolicies: [() => allow],
      },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, null, null]);
    expect(checks).toBe(1);
  });

  it('a report check has the timeout of a tool, in a call or in text', async () => {
    const slow: ReportFormat = {
      name: 'slow',
      description: 'A text.',
      contentSchema: { type: 'string' },
      validate: async (content) => {
        await pause(200);
        return { valid: true, content: String(content) };
      },
      parseText: (text) => ({ ok: true, content: text }),
    };
    const { result } = await runOverWire({
      script: [report('Done.')],
      definition: { report: { format: slow }, limits: { toolTimeoutMs: 300 } },
    });
    expect(result).toMatchObject({ success: true, report: { content: 'Done.' } });
  });
});
