import { spawn, spawnSync } from 'node:child_process';
import { createOpenAI } from '@ai-sdk/openai';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, runSession } from '../../src/index.ts';
import { curlOf, testCommandOf } from '../../src/inspect/page/session/details/copied.ts';
import { MicrostepReplay } from '../../src/inspect/recorded/microstep-replay.ts';
import { ShownRecording } from '../../src/inspect/recorded/shown-recording.ts';
import { exchangeAt } from '../../src/inspect/study/exchange.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type ModelServer, startModelServer } from '../../src/testing/index.ts';

const hasCurl = spawnSync('curl', ['--version']).status === 0;
if (!hasCurl) process.stderr.write('No curl (apt-get install curl): skipped.\n');

/** Runs a command of a shell, and returns what it wrote. */
async function shell(command: string, env: Record<string, string>): Promise<string> {
  const child = spawn('sh', ['-c', command], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  for await (const data of child.stdout) out += data;
  return out;
}

/** Runs a session over the wire, and asks the same server again with each copied request. */
async function askedAgain(server: ModelServer, definition: Partial<AgentDefinition>, options: object) {
  const journal = new MemoryJournal();
  const models = [createOpenAI({ baseURL: server.url, apiKey: 'k' }).chat('m-1')];
  await runSession(defineAgent({ name: 'clerk', models, settings: { streaming: false }, ...definition }), {
    ...{ journal, sessionId: 's', logger: false, prompt: 'Go.', ...options },
  });
  const recorded = new ShownRecording();
  recorded.takePart(new MicrostepReplay().play(await journal.read('s')));
  const sent = server.requests.map(({ body }) => body);
  for (const [index, fact] of recorded.told.entries())
    if ('fact' in fact && fact.fact.type === 'attempt.started') {
      const exchange = exchangeAt(recorded, { told: index + 1, scope: '' });
      if (exchange === null) throw new Error('no exchange');
      await shell(curlOf(recorded, exchange) ?? '', { BASE_URL: server.url, API_KEY: "it's k" });
    }
  const again = server.requests.slice(sent.length);
  return { sent, again };
}

describe('S-8: a request is copied as a command of curl', () => {
  it.skipIf(!hasCurl)(
    'that asks for the same as what went over the wire, with calls, answers, notices and pictures',
    async () => {
      await using server = await startModelServer([
        { calls: [{ name: 'look', input: { at: "it's $HOME `x`\nBODY\n" } }] },
        {},
        { text: 'Done.' },
      ]);
      const execute = () => "BODY\n'quoted'";
      const look = tool({ description: 'Looks.', inputSchema: z.object({ at: z.string() }), execute });
      const picture = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } };
      const content = [{ type: 'text', text: 'What is it?' }, picture];
      const { sent, again } = await askedAgain(
        server,
        { tools: { look }, instructions: 'Be brief.', finish: 'text' },
        { prompt: undefined, messages: [{ role: 'user', content }] },
      );
      expect(sent).toHaveLength(3);
      expect(again.map(({ body }) => [body.model, body.messages, body.tools])).toEqual(
        sent.map(({ model, messages, tools }) => [model, messages, tools]),
      );
      expect(again.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill("Bearer it's k"));
    },
  );

  it('and a session as the command that makes a test of it, whatever its names are', async () => {
    const command = testCommandOf({ sessionId: "it's -- $(x)", agent: 'the clerk/1' });
    expect(await shell(command.replace('pawl', `printf '%s|'`), {})).toBe(
      "test|it's -- $(x)|--agent|agent.ts|-o|the-clerk-1.test.ts|",
    );
    expect(testCommandOf({ sessionId: 'a1', agent: 'clerk' })).toBe('pawl test a1 --agent agent.ts -o clerk.test.ts');
  });
});
