import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { defineAgent, idempotent } from '../../src/index.ts';
import { type RehearsalRequest, type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import type { Rehearsed } from './engine-lives.ts';
import { inputSchema } from './journaled.ts';
import { report } from './session.ts';

const isAnswered = (prompt: readonly { role: string }[]) => prompt.some(({ role }) => role === 'tool');
/** A model that reports when it may call nothing else, as after a stop. */
const scripted = (script: (request: RehearsalRequest) => RehearsedReply) =>
  rehearsalModel((request) => (request.tools?.length === 1 ? report('Stopped.') : script(request)));
const task = { prompt: 'Help.', reason: 'It is long.' };

/**
 * Every kind of step: tools side by side, one of which changes its context, a backoff, an approval, a client-side tool
 * with a large answer that is read in pages, a sub-agent, a handoff.
 */
export function everyStep(): Rehearsed {
  const effects: string[] = [];
  const work = (name: string) => tool({ inputSchema, execute: () => void effects.push(name) });
  const helping = scripted(({ prompt }) =>
    isAnswered(prompt) ? report('Helped.') : { calls: [{ name: 'write', input: {} }] },
  );
  const helper = defineAgent({
    name: 'helper',
    models: [helping],
    tools: { write: work('written by the helper') },
    limits: { maxRetries: 12 },
  });
  const closing = scripted(({ prompt }) =>
    JSON.stringify(prompt).includes('"sign"') ? report('Everything is done.') : { calls: [{ name: 'sign' }] },
  );
  const closer = defineAgent({
    name: 'closer',
    models: [closing],
    tools: { sign: tool({ inputSchema }) },
    limits: { maxRetries: 12 },
  });
  let limited = 0;
  const model = scripted(({ prompt }) => {
    const called = JSON.stringify(prompt.filter(({ role }) => role === 'assistant'));
    const next = ['read', 'charge', 'locate', 'read_result', 'helper'].find(
      (name) => !called.includes(`"toolName":"${name}"`),
    );
    if (next === undefined)
      return { calls: [{ name: 'transfer_to_closer', input: { reason: 'It is signed there.' } }] };
    if (next === 'read') return { calls: [{ name: 'read' }, { name: 'write' }] };
    if (next === 'helper') return { calls: [{ name: 'helper', input: task }] };
    if (next === 'read_result') {
      const [, id] = /id (r[\d_]+)/.exec(JSON.stringify(prompt)) ?? [];
      return { calls: [{ name: 'read_result', input: { id, page: 2 } }] };
    }
    limited += 1;
    if (limited === 1) return { throws: Object.assign(new Error('slow down'), { statusCode: 429 }) };
    return { calls: [{ name: next }] };
  });
  const agent = defineAgent({
    name: 'stepping',
    models: [model],
    builtIns: { readResult: true },
    tools: {
      read: idempotent(
        tool({
          inputSchema,
          execute: (_, { context }) => {
            Object.assign(context as object, { isChanged: true });
            effects.push('read');
          },
        }),
      ),
      write: work('written'),
      charge: tool({ inputSchema, needsApproval: true, execute: () => void effects.push('charged') }),
      locate: tool({ inputSchema }),
    },
    agents: { helper },
    handoffs: { closer },
    // Every death may cost an attempt.
    limits: { maxRetries: 12, maxTreeRequests: 200, toolResultBytes: 2_000 },
  });
  return { agent, effects, models: [model, helping, closing] };
}

/** Three sub-agents that share a budget. Each waits for an approval, and one of them has a sub-agent of its own. */
export function family(maxTreeRequests = 24): Rehearsed {
  const effects: string[] = [];
  const charging = scripted(({ prompt }) =>
    isAnswered(prompt) ? report('Charged.') : { calls: [{ name: 'charge' }] },
  );
  const charge = tool({
    inputSchema,
    needsApproval: true,
    execute: (_, { toolCallId }) => void effects.push(`charged ${toolCallId}`),
  });
  const limits = { maxRetries: 3, maxTurns: 2 };
  const leaf = defineAgent({ name: 'leaf', models: [charging], tools: { charge }, limits });
  const giving = scripted(({ prompt }) =>
    isAnswered(prompt) ? report('Given.') : { calls: [{ name: 'leaf', input: task }] },
  );
  const branch = defineAgent({
    name: 'branch',
    models: [giving],
    agents: { leaf },
    limits: { ...limits, maxTreeRequests: 12 },
  });
  const sharing = scripted(({ prompt }) =>
    isAnswered(prompt)
      ? report('Shared.')
      : { calls: ['leaf', 'branch', 'leaf'].map((name) => ({ name, input: task })) },
  );
  const agent = defineAgent({
    name: 'root',
    models: [sharing],
    agents: { leaf, branch },
    limits: { maxTreeRequests },
  });
  return { agent, effects, models: [charging, giving, sharing] };
}

/** A session with a tool of an MCP server, which is a process of its own, and a call that waits outside. */
export function noting(): Rehearsed {
  const model = scripted(({ prompt }) => {
    const called = JSON.stringify(prompt.filter(({ role }) => role === 'assistant'));
    const next = ['locate', 'notes__note'].find((name) => !called.includes(`"toolName":"${name}"`));
    return next === undefined ? report('Noted.') : { calls: [{ name: next }] };
  });
  const file = join(mkdtempSync(join(tmpdir(), 'pawl-noting-')), 'notes');
  const args = ['--no-warnings', join(import.meta.dirname, 'note-mcp.ts'), file];
  const agent = defineAgent({
    name: 'noting',
    models: [model],
    tools: { locate: tool({ inputSchema }) },
    mcpServers: { notes: { command: process.execPath, args } },
    limits: { maxRetries: 12 },
  });
  return { agent, effects: [], models: [model] };
}
