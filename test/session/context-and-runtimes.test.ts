import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { tool } from 'ai';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { approveSession, defineAgent, resumeAll, serveMcp, sqliteJournal, startSession } from '../../src/index.ts';
import { byteLength, toBase64 } from '../../src/platform/bytes.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { chatHandler } from '../../src/ui/index.ts';
import { freshFile } from '../support/journaled.ts';
import { report } from '../support/session.ts';

const logger = false as const;

/** An agent whose tool notes the context that it is given. */
function noting(needsApproval = false) {
  const seen: unknown[] = [];
  const note = tool({
    inputSchema: z.object({}),
    needsApproval,
    execute: (_, { context }) => void seen.push(context),
  });
  const model = rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name: 'note', input: {} }] },
  );
  return { seen, agent: defineAgent({ name: 'noting', models: [model], tools: { note } }) };
}

describe('the context reaches the tools', () => {
  it('of a served agent', async () => {
    const { seen, agent } = noting();
    const [near, far] = InMemoryTransport.createLinkedPair();
    await using server = await serveMcp(agent, { transport: far, logger, context: { user: 'ada' } });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(near);
    await client.callTool({ name: 'noting', arguments: { prompt: 'Go.' } });
    await client.close();
    await server.closed;
    expect(seen).toEqual([{ user: 'ada' }]);
  });

  it('of sessions that are resumed together', async () => {
    const { seen, agent } = noting(true);
    const journal = sqliteJournal(freshFile());
    const first = startSession(agent, { prompt: 'Go.', journal, logger, context: { user: 'before' } });
    for await (const event of first.events) {
      if (event.type !== 'tool.approvalRequested') continue;
      await first.suspend();
      await approveSession(journal, first.sessionId, event.callId, { approved: true });
    }
    const { sessions } = await resumeAll([agent], { journal, logger, context: ({ sessionId }) => ({ of: sessionId }) });
    for (const { result } of sessions) await result;
    expect(seen).toEqual([{ of: first.sessionId }]);
    await journal.close();
  });

  it('of a chat, from its request', async () => {
    const { seen, agent } = noting();
    const handle = chatHandler(agent, { logger, context: (request) => ({ user: request.headers.get('x-user') }) });
    const messages = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }];
    const body = JSON.stringify({ id: 'c', messages });
    const answer = await handle(
      new Request('http://localhost/chat', { method: 'POST', body, headers: { 'x-user': 'ada' } }),
    );
    await answer.text();
    expect(seen).toEqual([{ user: 'ada' }]);
  });
});

describe('a runtime without Node', () => {
  it.each(['', 'plain', 'fünf 🎉 \ud800', 'x'.repeat(100_000)])('measures texts as Node does', (text) => {
    const bytes = new TextEncoder().encode(text);
    const known = [byteLength(text), toBase64(bytes)];
    vi.stubGlobal('Buffer', undefined);
    try {
      expect([byteLength(text), toBase64(bytes)]).toEqual(known);
    } finally {
      vi.unstubAllGlobals();
    }
  });
});
