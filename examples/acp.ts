/** An agent in an editor: an editor of our own starts this program again, and speaks ACP with it. */
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import { tool } from 'ai';
import { defineAgent } from 'pawl';
import { serveAcp } from 'pawl/acp';
import { z } from 'zod';
import { call, model } from './model.ts';

const inputSchema = z.object({ city: z.string() });
const weather = tool({ inputSchema, needsApproval: true, execute: ({ city }) => `Rain in ${city}.` });
const replies = [call('weather', { city: 'Bonn' }), { text: 'Take an umbrella.' }];
const agent = defineAgent({ name: 'forecaster', models: [model(...replies)], tools: { weather }, finish: 'text' });

if (process.argv.includes('--serve')) {
  await serveAcp(agent).closed;
  process.exit();
}
const { stdin, stdout } = spawn(process.execPath, [import.meta.filename, '--serve'], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const answered: string[] = [];
const editor = client({ name: 'editor' })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    answered.push(`allowed ${params.toolCall.title}`);
    return { outcome: { outcome: 'selected', optionId: 'allow' } };
  })
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === 'agent_message_chunk' && 'text' in update.content) answered.push(update.content.text);
  });
const streams = [Writable.toWeb(stdin), Readable.toWeb(stdout)] as [WritableStream, ReadableStream];
const { agent: peer } = editor.connect(ndJsonStream(...streams));
await peer.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
const { sessionId } = await peer.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
const { prompt } = methods.agent.session;
const { stopReason } = await peer.request(prompt, { sessionId, prompt: [{ type: 'text', text: 'Umbrella?' }] });
stdin.end();
console.log(answered.join(' '), stopReason);
// allowed weather {"city":"Bonn"} Take an umbrella. end_turn
