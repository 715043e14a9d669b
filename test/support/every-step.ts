import { appendFileSync, readFileSync } from 'node:fs';
import { tool } from 'ai';
import { z } from 'zod';
import { type Agent, defineAgent, idempotent, type McpServerConfig } from '../../src/index.ts';
import type { RecordedRequest, ScriptedResponse } from '../../src/testing/index.ts';
import { wireModel } from './session.ts';

const inputSchema = z.object({ id: z.string() });

/** Writes down, outside the process, that a tool has an effect. */
const effect = (file: string, name: string, id: string) => appendFileSync(file, `${name} ${id}\n`);

/** The effects that the tools had, in all lives together. */
export function effectsIn(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1);
}

/** An agent whose session takes every kind of step: see `everyStep`. Its tools note their effects in `file`. */
export function steppingAgent(
  url: string,
  file: string,
  mcpServers: Record<string, McpServerConfig> = {},
  apiKey = 'test-key',
): Agent {
  const model = wireModel('openai', url, 'scripted', apiKey);
  const write = tool({ inputSchema, execute: ({ id }) => effect(file, 'write', id) });
  const helper = defineAgent({
    name: 'helper',
    instructions: 'You are the helper.',
    models: [model],
    tools: { write },
    limits: { maxRetries: 12 },
  });
  return defineAgent({
    name: 'stepping',
    models: [model],
    tools: {
      read: idempotent(
        tool({
          inputSchema,
          execute: async ({ id }) => {
            effect(file, 'read', id);
            return 'It reads well.';
          },
        }),
      ),
      write,
      charge: tool({ inputSchema, needsApproval: true, execute: ({ id }) => effect(file, 'charge', id) }),
    },
    agents: { delegate: helper },
    mcpServers,
    builtIns: { batch: true },
    // Every kill may cost an attempt.
    limits: { maxRetries: 12, maxTreeRequests: 200 },
  });
}

/** A model that chooses each step from its prompt: tools side by side, a wait, an approval, and so on. */
export function everyStep(mcpTool: string | null = null): (request: RecordedRequest) => ScriptedResponse {
  let limited = 0;
  return ({ body }) => {
    const called = JSON.stringify(body.messages.flatMap((message) => message.tool_calls ?? []));
    const done = (what: string) => called.includes(what);
    if (JSON.stringify(body.messages).includes('You are the helper.')) {
      if (!done('"write"')) return { calls: [{ name: 'write', input: { id: 'by the helper' } }] };
      return { calls: [{ name: 'final_report', input: { content: 'Helped.' } }] };
    }
    if (!done('both')) {
      return {
        calls: [
          { name: 'read', input: { id: 'both' } },
          { name: 'write', input: { id: 'both' } },
        ],
      };
    }
    if (!done('"charge"')) {
      limited += 1;
      if (limited === 1) return { status: 429, headers: { 'retry-after': '0.02' }, error: { message: 'slow' } };
      return { calls: [{ name: 'charge', input: { id: 'once' } }] };
    }
    if (!done('"delegate"')) {
      return { calls: [{ name: 'delegate', input: { prompt: 'Help.', reason: 'Two see more.' } }] };
    }
    if (!done('"batch"')) {
      const calls = ['first', 'second'].map((id) => ({ tool: 'write', input: { id } }));
      return { text: 'Now both.', calls: [{ name: 'batch', input: { calls } }] };
    }
    if (mcpTool !== null && !done(`"${mcpTool}"`)) return { calls: [{ name: mcpTool, input: {} }] };
    return { text: 'All done.', calls: [{ name: 'final_report', input: { content: 'Everything is done.' } }] };
  };
}

/** A tool without `execute`, for which someone outside answers. */
export const clientTool = 'locate';

/** Has the client-side tool called too, once the sub-agent has ended. */
export function withClientTool(script: ReturnType<typeof everyStep>): ReturnType<typeof everyStep> {
  return (request) => {
    const calls = JSON.stringify(request.body.messages.flatMap((message) => message.tool_calls ?? []));
    const isNext = calls.includes('"delegate"') && !calls.includes(`"${clientTool}"`);
    return isNext ? { calls: [{ name: clientTool, input: {} }] } : script(request);
  };
}
