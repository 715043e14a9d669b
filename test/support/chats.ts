import { tool } from 'ai';
import { z } from 'zod';
import { type Agent, defineAgent, type Journal } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { chatHandler, type PawlUIMessage } from '../../src/ui/index.ts';
import { messageOf } from './ui.ts';

const logger = false as const;
const send = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 'sent' });

/** An agent that asks before it sends, and counts its sessions. */
export function sending(limits: { approvalTimeoutMs?: number } = {}) {
  const model = rehearsalModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? { text: 'Sent.' } : { calls: [{ name: 'send', input: {} }] },
  );
  return { model, agent: defineAgent({ name: 'sender', models: [model], tools: { send }, finish: 'text', limits }) };
}

export const user = (text: unknown) => ({ id: 'u', role: 'user', parts: [{ type: 'text', text }] });

export function chatOf(agent: Agent, journal?: Journal) {
  const events: string[] = [];
  const handle = chatHandler(agent, {
    logger,
    ...(journal !== undefined && { journal }),
    onEvent: ({ type, sessionId }) => void events.push(`${type} ${sessionId}`),
  });
  const ask = (method: string, path: string, body?: unknown) =>
    handle(
      new Request(`http://localhost/api/chat${path}`, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
  const post = (messages: unknown[], id = 'c') => ask('POST', '', { id, messages });
  const starts = () => events.filter((event) => event.startsWith('session.started'));
  return { ask, post, events, starts };
}

/** Reads the message of a response, which may continue one. */
export async function read(answer: Response, known?: PawlUIMessage): Promise<PawlUIMessage> {
  const text = await answer.text();
  const chunks = text.split('\n\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  return (await messageOf(stream, known && structuredClone(known))).message;
}
