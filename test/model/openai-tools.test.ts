import { createOpenAI } from '@ai-sdk/openai';
import { type ToolSet, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { bothLoops, openaiResponse, type Sent, startStreams } from '../support/conversations.ts';
import { callsIn, run } from '../support/session.ts';

const openai = (url: string) => createOpenAI({ baseURL: url, apiKey: 'test-key' });
const { tools } = openai('http://127.0.0.1:9/v1');
const model = (url: string) => openai(url).responses('gpt-5');
const answered: Sent = {
  type: 'message',
  id: 'msg_2',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
};
const lookup = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => `found ${q}` });

const localShellCall: Sent = {
  type: 'local_shell_call',
  id: 'lsh_1',
  call_id: 'call_1',
  status: 'completed',
  action: { type: 'exec', command: ['ls'], env: {} },
};
const shellCall: Sent = {
  type: 'shell_call',
  id: 'sh_1',
  call_id: 'call_1',
  status: 'completed',
  action: { commands: ['ls'] },
};
const patchCall: Sent = {
  type: 'apply_patch_call',
  id: 'apc_1',
  call_id: 'call_1',
  status: 'completed',
  operation: { type: 'delete_file', path: 'a.txt' },
};
const customCall: Sent = {
  type: 'custom_tool_call',
  id: 'ctc_1',
  call_id: 'call_1',
  name: 'sql',
  input: 'SELECT "x"',
  status: 'completed',
};
const caller = { type: 'program', caller_id: 'call_p' };
const functionCall: Sent = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'lookup',
  arguments: '{"q":"x"}',
  status: 'completed',
};
const program: Sent = { type: 'program', id: 'prg_1', call_id: 'call_p', code: 'lookup("x")', fingerprint: 'f-1' };
const programOutput: Sent = {
  type: 'program_output',
  id: 'pro_1',
  call_id: 'call_p',
  result: '1',
  status: 'completed',
};
const searchCall: Sent = {
  type: 'tool_search_call',
  id: 'tsc_1',
  execution: 'server',
  call_id: null,
  status: 'completed',
  arguments: { paths: ['x'] },
};
const searchOutput: Sent = {
  type: 'tool_search_output',
  id: 'tso_1',
  execution: 'server',
  call_id: null,
  status: 'completed',
  tools: [],
};
const shellOutput: Sent = {
  type: 'shell_call_output',
  id: 'sho_1',
  call_id: 'call_1',
  status: 'completed',
  output: [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
};

describe("C-6: OpenAI's own tools, over the same streams as the AI SDK's own loop", () => {
  const found = { output: [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit' as const, exitCode: 0 } }] };
  it.each<[string, Sent[][], ToolSet]>([
    [
      'localShell, run here',
      [[localShellCall]],
      { shell: tools.localShell({ execute: async () => ({ output: 'a.txt' }) }) },
    ],
    ['shell, run here', [[shellCall]], { sh: tools.shell({ execute: async () => found }) }],
    [
      'applyPatch, run here',
      [[patchCall]],
      { apply_patch: tools.applyPatch({ execute: async () => ({ status: 'completed' as const, output: 'Gone.' }) }) },
    ],
    [
      'customTool, whose input is a text',
      [[customCall]],
      {
        sql: { ...tools.customTool({ description: 'SQL' }), execute: async (text: unknown) => `ran ${text}` } as never,
      },
    ],
    [
      'a program, whose output comes in a later reply',
      [[program, { ...functionCall, caller }]],
      { programmatic: tools.programmaticToolCalling(), lookup },
    ],
    ['toolSearch on the server', [[searchCall, searchOutput, functionCall]], { search: tools.toolSearch(), lookup }],
    [
      'shell in a container',
      [[shellCall, shellOutput, functionCall]],
      { sh: tools.shell({ environment: { type: 'containerAuto' } }), lookup },
    ],
  ])('%s', async (what, [first = []], given) => {
    const second = what.startsWith('a program') ? [programOutput, answered] : [answered];
    const streams = [openaiResponse(...first), openaiResponse(...second)];
    const { ours, theirs, run: ran } = await bothLoops({ streams, model, tools: () => given });
    expect(ours).toEqual(theirs);
    expect(ours).toHaveLength(2);
    expect(ran.result.counters).toMatchObject({ turns: 2, attempts: 2, failedAttempts: 0, notices: 0 });
  });

  it('a failed, denied or cut result of a local tool is an item of its own too', async () => {
    const sh = { ...tools.shell({ execute: async () => found }), needsApproval: true };
    const fail = tools.localShell({
      execute: async () => {
        throw new Error('no disk');
      },
    });
    const long = { output: 'x'.repeat(5_000) };
    for (const [call, given, item] of [
      [shellCall, { sh }, { type: 'shell_call_output', output: [{ stderr: 'Denied: no', outcome: { exit_code: 1 } }] }],
      [localShellCall, { sh: fail }, { type: 'local_shell_call_output', output: 'no disk' }],
      [
        localShellCall,
        { sh: tools.localShell({ execute: async () => long }) },
        { type: 'local_shell_call_output', output: expect.stringContaining('bytes left out here') },
      ],
    ] as const) {
      await using server = await startStreams([openaiResponse(call), openaiResponse(answered)]);
      await run({
        agent: defineAgent({
          name: 'local',
          models: [model(server.url)],
          tools: given as never,
          finish: 'text',
          limits: { toolResultBytes: 1_024 },
        }),
        during: (event, session) => {
          if (event.type !== 'tool.approvalRequested') return;
          session.approve(event.callId, { approved: false, reason: 'no' });
        },
      });
      const { input = [] } = (server.bodies[1] ?? {}) as { input?: Sent[] };
      expect(input.at(-1)).toMatchObject(item);
    }
  });

  it('the text of a custom tool is seen as { text } by policies, approvers and events', async () => {
    const seen: unknown[] = [];
    await using server = await startStreams([openaiResponse(customCall), openaiResponse(answered)]);
    const { result } = await run({
      agent: defineAgent({
        name: 'custom',
        models: [model(server.url)],
        tools: {
          sql: {
            ...tools.customTool({}),
            execute: async (text: unknown) => seen.push(text),
            needsApproval: true,
          } as never,
        },
        toolPolicies: [
          ({ input }) => {
            seen.push(input);
            return { allow: true };
          },
        ],
        finish: 'text',
      }),
      during: (event, session) => {
        if (event.type !== 'tool.approvalRequested') return;
        seen.push(event.input);
        session.approve(event.callId, { approved: true });
      },
    });
    expect(seen).toEqual([{ text: 'SELECT "x"' }, { text: 'SELECT "x"' }, 'SELECT "x"']);
    expect(callsIn(result)[0]?.slug).toBeNull();
  });
});

it.each([
  ['computer', tools.computer(), 'its failures have no form that the API takes'],
  ['mcp', tools.mcp({ serverLabel: 'x', requireApproval: 'always' }), "its approvals are the provider's"],
])('an agent cannot have openai.%s, and is told so by name when it is defined', (name, given, reason) => {
  expect(() => defineAgent({ name: 'a', models: [rehearsalModel([])], tools: { own: given } as never })).toThrow(
    `\`tools.own\` (openai.${name}) cannot be used: ${reason}`,
  );
});

it.each([
  ['mcp', tools.mcp({ serverLabel: 'x', serverUrl: 'https://x.example', requireApproval: 'never' })],
  ['shell in a container', tools.shell({ environment: { type: 'containerReference', containerId: 'c' } })],
  ['toolSearch on the server', tools.toolSearch()],
])('%s needs no execute', (_name, given) => {
  expect(() => defineAgent({ name: 'a', models: [rehearsalModel([])], tools: { own: given } as never })).not.toThrow();
});

it.each([
  ['shell', tools.shell({})],
  ['toolSearch on the client', tools.toolSearch({ execution: 'client' })],
  ['localShell', tools.localShell({})],
])('%s runs here, so it needs execute', (_name, given) => {
  expect(() => defineAgent({ name: 'a', models: [rehearsalModel([])], tools: { own: given } as never })).toThrow(
    '`tools.own.execute` is required: a function that runs the tool.',
  );
});
