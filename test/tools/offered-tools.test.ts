import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { type Message, userMessage } from '../../machines/index.ts';
import { systemClock } from '../../src/host/clock.ts';
import { Catalog } from '../../src/tools/catalog.ts';
import { type CatalogTool, functionTool } from '../../src/tools/catalog-tool.ts';
import { type LocalTool, localTool } from '../../src/tools/local.ts';

const real = (name: string) => localTool(name, { inputSchema: z.object({}), execute: () => 1 } as LocalTool);
const report: CatalogTool = {
  ...real('final_report'),
  kind: 'report',
  offered: functionTool('final_report', 'Reports.', {}),
};
const [look, walk] = [real('look'), real('walk')];

const task = userMessage('Look.');
const called: Message = {
  role: 'assistant',
  content: [
    { type: 'text', text: 'So.' },
    { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} },
  ],
};
const said: Message = { role: 'assistant', content: [{ type: 'text', text: 'So.' }] };
const conversation: { messages: Message[]; plan: { tools: readonly string[] | null } | null } = {
  messages: [],
  plan: null,
};

beforeEach(() => {
  conversation.messages = [task];
  conversation.plan = null;
});

async function shown(...tools: CatalogTool[]) {
  const catalog = new Catalog({
    clock: systemClock,
    checkTimeoutMs: 1_000,
    conversation,
    policies: () => null,
    checks: { report: async (verdict) => verdict },
    context: () => undefined,
  });
  await catalog.show(new Map(tools.map((tool) => [tool.name, tool])));
  return catalog;
}

const names = (offered: readonly { name: string }[]) => offered.map(({ name }) => name);

it('B-5: a request for the report offers the report tool alone, or all if there is none', async () => {
  const catalog = await shown(look, report, walk);
  expect(names(catalog.offered('all'))).toEqual(['look', 'final_report', 'walk']);
  expect(names(catalog.offered('report'))).toEqual(['final_report']);
  expect(names((await shown(look, walk)).offered('report'))).toEqual(['look', 'walk']);
});

it('T-7: a turn has the tools of its plan, in the order of all, as one list as long as the plan stays', async () => {
  const catalog = await shown(look, walk, report);
  conversation.plan = { tools: ['final_report', 'look'] };
  const offered = catalog.offered('all');
  expect(names(offered)).toEqual(['look', 'final_report']);
  conversation.plan = { tools: ['final_report', 'look'] };
  expect(catalog.offered('all')).toBe(offered);
  expect(names(catalog.offered('report'))).toEqual(['final_report']);
  for (const [tools, expected] of [
    [
      ['final_report', 'walk'],
      ['walk', 'final_report'],
    ],
    [['walk'], ['walk']],
    [
      ['walk', 'look'],
      ['look', 'walk'],
    ],
    [
      ['look', 'walk', 'final_report'],
      ['look', 'walk', 'final_report'],
    ],
  ] as const) {
    conversation.plan = { tools };
    expect(names(catalog.offered('all'))).toEqual(expected);
  }
  // A list that changes is shown anew.
  await catalog.show(new Map([['look', look]]));
  expect(names(catalog.offered('all'))).toEqual(['look']);
  conversation.plan = { tools: null };
  expect(names(catalog.offered('all'))).toEqual(['look']);
});

it('T-7: a plan without tools offers none, unless the conversation has calls, which providers then refuse', async () => {
  const catalog = await shown(look, report);
  for (const [messages, expected] of [
    [[task], []],
    [[task, said], []],
    [[task, { role: 'tool', content: [] }], []],
    [
      [task, said, called],
      ['look', 'final_report'],
    ],
    [[task], []],
  ] as [Message[], string[]][]) {
    conversation.messages = messages;
    expect(names(catalog.offeredOf([]))).toEqual(expected);
  }
  expect(names(catalog.offeredOf(['look']))).toEqual(['look']);
  expect(names(catalog.offeredOf(null))).toEqual(['look', 'final_report']);
});

it('before the tools are shown, there are none', async () => {
  const options = { checks: { report: async (verdict: never) => verdict }, context: () => undefined };
  const catalog = new Catalog({
    ...{ clock: systemClock, checkTimeoutMs: 1_000, conversation, policies: () => null },
    ...options,
  });
  expect([names(catalog.offered('all')), catalog.all(), catalog.get('look')]).toEqual([[], [], undefined]);
});

it('agents that share a list of tools share what is made of it', async () => {
  let made = 0;
  const tools = new Map([
    [
      'look',
      {
        ...look,
        get offered() {
          made += 1;
          return look.offered;
        },
      },
    ],
  ]);
  for (let session = 0; session < 3; session += 1) {
    const catalog = await shown();
    await catalog.show(tools);
    expect(names(catalog.offered('all'))).toEqual(['look']);
  }
  expect(made).toBe(1);
});
