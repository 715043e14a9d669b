import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

const server = join(import.meta.dirname, '../support/talking-server.ts');

it.each([
  ['closes both pipes', ['stdin', 'stdout']],
  ['only stops reading', ['stdout']],
  ['only stops writing', ['stdin']],
] as const)('D-2: a client over stdio that %s amid a session aborts it, and the server ends', async (_, closed) => {
  const child = spawn(process.execPath, [server], { stdio: ['pipe', 'pipe', 'pipe'] });
  const said = text(child.stderr);
  const ended = once(child, 'exit');
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  send({ id: 1, method: 'initialize', params });
  await once(child.stdout, 'data');
  send({ method: 'notifications/initialized' });
  const call = { name: 'talker', arguments: { prompt: 'x' }, _meta: { progressToken: 1 } };
  send({ id: 2, method: 'tools/call', params: call });
  await once(child.stdout, 'data');
  child.stdout.resume();
  for (const side of closed) child[side].destroy();
  expect(await ended).toEqual([0, null]);
  expect((await said).trim().split('\n')).toEqual(['session.aborted', 'closed']);
});
