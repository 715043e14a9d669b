import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { expect, it } from 'vitest';
import { defineAgent } from '../../../src/index.ts';
import { rehearsalModel } from '../../../src/testing/index.ts';
import { report, run } from '../../support/session.ts';

it('S-5: the progress of a server is cut at 1,000 bytes, and not in the middle of a secret', async () => {
  const secret = 'hunter2-of-mine-and-no-other';
  const server = new McpServer({ name: 'slow', version: '1' });
  server.registerTool('work', {}, async ({ _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken ?? 0;
    const messages = ['short', `${'x'.repeat(415)}${secret}${'y'.repeat(900)}`];
    for (const [index, message] of messages.entries())
      await sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress: index + 1, total: 2, message },
      });
    return { content: [{ type: 'text', text: 'Worked.' }] };
  });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const agent = defineAgent({
    name: 'worker',
    models: [rehearsalModel([{ calls: [{ name: 'slow__work' }] }, report()])],
    mcpServers: {
      slow: {
        transport: near,
      },
    },
    secrets: [secret],
  });
  const { result, events } = await run({ agent });
  expect(result.success).toBe(true);
  const shown = events.flatMap((event) => (event.type === 'tool.progressed' ? [event.output] : []));
  expect(shown[0]).toEqual({ type: 'text', value: '1 of 2 short' });
  const value = shown[1]?.type === 'text' ? shown[1].value : '';
  expect(value).toMatch(/^2 of 2 x{415}\n\[… \d+ of \d+ bytes left out here: the result was too large …\]\ny+$/);
  expect(Buffer.byteLength(value)).toBeLessThanOrEqual(1_000);
  expect(JSON.stringify(events)).not.toContain('hunter2');
});
