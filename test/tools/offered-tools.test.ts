import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { type Message, userMessage } from '../../machines/index.ts';
import { type CatalogTool, functionTool } from '../../src/tools/catalog-tool.ts';
import { type LocalTool, localTool } from '../../src/tools/local.ts';
import { catalogOf, emptyCatalog, namesOf, type Told } from '../support/catalog.ts';

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
/** A plan that offers what it permits. */
const planOf = (tools: readonly string[] | null) => ({ tools, offered: tools });

const conversation: Told = { messages: [], plan: null };

beforeEach(() => {
  conversation.messages = [task];
  conversation.plan = null;
});

const shown = (...tools: CatalogTool[]) => catalogOf(tools, { conversation });

it('B-5: a request for the report offers only the report tool, or all tools if the agent has no report tool', async () => {
  const catalog = await shown(look, report, walk);
  expect(namesOf(catalog.offered('all'))).toEqual(['look', 'final_report', 'walk']);
  expect(namesOf(catalog.offered('report'))).toEqual(['final_report']);
  expect(namesOf((await shown(look, walk)).offered('report'))).toEqual(['look', 'walk']);
});

it('T-7: a turn has the tools of its plan, in the order of all, as one list as long as the plan stays', async () => {
  const catalog = await shown(look, walk, report);
  conversation.plan = planOf(['final_report', 'look']);
  const offered = catalog.offered('all');
  expect(namesOf(offered)).toEqual(['look', 'final_report']);
  conversation.plan = planOf(['final_report', 'look']);
  expect(catalog.offered('all')).toBe(offered);
  expect(namesOf(catalog.offered('report'))).toEqual(['final_report']);
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
    conversation.plan = planOf(tools);
    expect(namesOf(catalog.offered('all'))).toEqual(expected);
  }
  // A changed list takes effect at once.
  await catalog.show(new Map([['look', look]]));
  expect(namesOf(catalog.offered('all'))).toEqual(['look']);
  conversation.plan = planOf(null);
  expect(namesOf(catalog.offered('all'))).toEqual(['look']);
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
    expect(namesOf(catalog.offeredOf([]))).toEqual(expected);
  }
  expect(namesOf(catalog.offeredOf(['look']))).toEqual(['look']);
  expect(namesOf(catalog.offeredOf(null))).toEqual(['look', 'final_report']);
});

it('the catalog is empty until it is given tools', async () => {
  const catalog = emptyCatalog();
  expect([namesOf(catalog.offered('all')), catalog.all(), catalog.get('look')]).toEqual([[], [], undefined]);
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
    expect(namesOf(catalog.offered('all'))).toEqual(['look']);
  }
  expect(made).toBe(1);
});
