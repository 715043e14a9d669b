import { beforeEach, describe, expect, it } from 'vitest';
import { builtInsSchema } from '../../../src/agent/definition.ts';
import type { ReportFormat } from '../../../src/report/format.ts';
import { callsInside } from '../../../src/tools/built-in/batch.ts';
import { finalReportTool } from '../../../src/tools/built-in/final-report.ts';
import * as list from '../../../src/tools/built-in/list.ts';
import type { CatalogTool, ToolRun } from '../../../src/tools/catalog-tool.ts';
import { handoffTool } from '../../../src/tools/handoff-tool.ts';
import { builtInNames } from '../../../src/vocabulary/built-ins.ts';

const run: ToolRun = {
  callId: 'c',
  signal: new AbortController().signal,
  messages: () => [],
  context: undefined,
  idempotencyKey: 'k',
  progress() {},
  account() {},
  takeTask: () => null,
  follow: async () => {},
  noteAlive() {},
  noteCached() {},
  noteFailed() {},
  ask: async () => ({ output: null, isError: true }),
  now: () => Date.UTC(2_026, 0, 2, 3, 4, 5),
  resultPage: (id, page) => (id === 'r1' && page < 3 ? { text: `page ${page}`, of: 2 } : null),
  historyPage: (page) => (page < 3 ? { text: `messages ${page}`, of: 2 } : null),
};
const format = (contentSchema: object): ReportFormat => ({
  name: 'own',
  description: 'A note.',
  contentSchema,
  validate: () => ({ ok: true }) as never,
  parseText: () => ({ ok: false, reasons: 'no' }),
});
let progress: CatalogTool;
let batch: CatalogTool;
let time: CatalogTool;
let read: CatalogTool;
beforeEach(() => {
  [progress, batch, time, read] = list.builtInsOf({
    progressReport: true,
    batch: true,
    currentTime: true,
    readResult: true,
  }) as [CatalogTool, CatalogTool, CatalogTool, CatalogTool];
});
const offeredBy = async (tool: CatalogTool) => {
  const { name, description, inputSchema } = (await tool.offered) as { [key: string]: unknown };
  return { name, description, inputSchema };
};
const reportSchema = async (contentSchema: object) =>
  (await offeredBy(finalReportTool(format(contentSchema)))).inputSchema as Record<string, unknown>;

describe('F-1: final_report', () => {
  it('holds a status and a content in the format of the agent, of which the content is required', async () => {
    expect(await offeredBy(finalReportTool(format({ type: 'string' })))).toEqual({
      name: 'final_report',
      description:
        'Ends the session by delivering the final report. A note. Call it once, when the task is done or cannot be done.',
      inputSchema: {
        type: 'object',
        properties: {
          status: {
            type: 'string',
            enum: ['success', 'partial', 'failure'],
            description: 'How you judge your own result.',
          },
          content: { type: 'string' },
        },
        required: ['content'],
      },
    });
  });

  it.each<[string, object, object, object]>([
    [
      'definitions move to the root, and references to them stay',
      { $schema: 'x', $ref: '#/$defs/a', $defs: { a: { $ref: '#/definitions/b' } }, definitions: { b: {} } },
      { $ref: '#/$defs/a' },
      { $defs: { a: { $ref: '#/definitions/b' } }, definitions: { b: {} } },
    ],
    ['one kind of definitions is enough', { $defs: { a: {} } }, {}, { $defs: { a: {} } }],
    ['so is the older kind', { definitions: { a: {} } }, {}, { definitions: { a: {} } }],
    [
      'a reference to the whole or to a part of it is rewritten',
      { properties: { next: { $ref: '#' }, like: { $ref: '#/properties/next' } } },
      {
        properties: { next: { $ref: '#/properties/content' }, like: { $ref: '#/properties/content/properties/next' } },
      },
      {},
    ],
    [
      'one to an anchor or another document is not, nor is anything else',
      { properties: { a: { $ref: '#here' }, b: { $ref: 'https://x.test/#/y' }, $ref: { const: '#/properties/a' } } },
      { properties: { a: { $ref: '#here' }, b: { $ref: 'https://x.test/#/y' }, $ref: { const: '#/properties/a' } } },
      {},
    ],
  ])('%s', async (_, schema, content, definitions) => {
    const { properties, type: _type, required: _required, ...rest } = await reportSchema(schema);
    expect((properties as { content: object }).content).toEqual(content);
    expect(rest).toEqual(definitions);
  });

  it('lets its format judge every input, and runs nothing', async () => {
    const tool = finalReportTool(format({}));
    expect(await tool.validate({ any: 1 })).toEqual({ valid: true, value: { any: 1 } });
    expect(tool.needsApproval).toBeUndefined();
    expect(tool.execute({}, run)).toBeUndefined();
    expect(tool.kind).toBe('report');
    expect(tool.toModelOutput).toBeUndefined();
  });
});

describe('T-2: progress_report', () => {
  it('asks for a sentence', async () => {
    expect(await offeredBy(progress)).toEqual({
      name: 'progress_report',
      description:
        'Tells the user in one sentence how the work is going. It does not count as a step: call it along with the tools that do the work.',
      inputSchema: {
        type: 'object',
        properties: { message: { type: 'string', minLength: 1, description: 'One sentence.' } },
        required: ['message'],
      },
    });
    expect([progress.kind, progress.needsApproval, progress.execute({}, run)]).toEqual([
      'progress',
      undefined,
      undefined,
    ]);
  });

  it.each([{}, { message: 7 }, { message: '' }, { message: ' \n' }])('refuses %j', async (input) => {
    expect(await progress.validate(input)).toEqual({ valid: false, reasons: 'message must be a non-blank string' });
  });

  it('accepts a sentence', async () => {
    expect(await progress.validate({ message: 'Half.' })).toEqual({ valid: true, value: { message: 'Half.' } });
  });
});

describe('T-2: batch', () => {
  it('is offered with its calls', async () => {
    expect(await offeredBy(batch)).toMatchObject({
      name: 'batch',
      description:
        'Calls several tools in parallel and returns all their results. Not for calls that need the result of another.',
      inputSchema: { properties: { calls: { type: 'array', minItems: 1 } }, required: ['calls'] },
    });
    expect([batch.kind, batch.execute({ calls: [{ tool: 'a' }] }, run)]).toEqual(['batch', undefined]);
  });

  it('each call inside has an id that no provider uses, and an input', () => {
    const call = { type: 'tool-call', providerExecuted: false };
    expect(callsInside('c', { calls: [{ tool: 'a', input: { x: 1 } }, { tool: 'b' }] })).toEqual([
      { ...call, callId: 'c/0', name: 'a', input: '{"x":1}' },
      { ...call, callId: 'c/1', name: 'b', input: '{}' },
    ]);
  });
});

describe('the other built-in tools', () => {
  it('current_time gives the time of the session, and may run again after a crash', async () => {
    expect(await offeredBy(time)).toMatchObject({
      name: 'current_time',
      description: 'Gets the current date, weekday and time in a time zone.',
    });
    expect([time.kind, time.afterCrash, time.needsApproval]).toEqual(['real', 'repeat', undefined]);
    expect(time.execute({}, run)).toEqual({
      local: 'Friday, 2 January 2026 at 03:04:05 UTC',
      utc: '2026-01-02T03:04:05.000Z',
    });
    expect(await time.validate({ timeZone: 'Mars/Olympus' })).toMatchObject({ valid: false });
  });

  it('read_result returns a page of a result, or reports that the page does not exist', async () => {
    expect(await offeredBy(read)).toMatchObject({
      name: 'read_result',
      description: 'Reads a page of a result that was too large to show in full.',
    });
    expect(read.afterCrash).toBe('repeat');
    expect(read.execute({ id: 'r1' }, run)).toBe('[page 1 of 2 of r1]\npage 1');
    expect(read.execute({ id: 'r1', page: 2 }, run)).toBe('[page 2 of 2 of r1]\npage 2');
    expect(() => read.execute({ id: 'r1', page: 3 }, run)).toThrow('No page 3 of result r1.');
    expect(await read.validate({ id: 'r1', page: 0 })).toMatchObject({ valid: false });
  });

  it('T-8: a handover names the agent that continues, and why one would choose it', async () => {
    const named = 'Hands the conversation to the agent billing, which continues it from the next turn.';
    const bare = handoffTool('billing', undefined);
    expect(await offeredBy(bare)).toMatchObject({ name: 'transfer_to_billing', description: named });
    const described = handoffTool('billing', 'For invoices.');
    expect(await offeredBy(described)).toMatchObject({ description: `${named} For invoices.` });
    expect([bare.handsTo, bare.afterCrash, bare.kind]).toEqual(['billing', 'repeat', 'real']);
    expect(bare.execute({}, run)).toBe('The agent billing takes over the conversation.');
  });

  it('only those that are asked for exist, in the order of their list', async () => {
    const names = (options: Record<string, boolean>) => list.builtInsOf(options).map(({ name }) => name);
    expect(names({})).toEqual([]);
    expect(names({ batch: true, progressReport: true, readResult: false })).toEqual(['progress_report', 'batch']);
    expect(builtInNames).toEqual([
      'final_report',
      'progress_report',
      'batch',
      'current_time',
      'read_result',
      'read_history',
    ]);
    expect(builtInsSchema.safeParse({ batch: true }).success).toBe(true);
    for (const options of [{ batch: 'yes' }, { other: true }])
      expect(builtInsSchema.safeParse(options).success).toBe(false);
  });
});
