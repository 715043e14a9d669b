import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { SessionResult } from '../../src/index.ts';
import { brokenPromises, startModelServer } from '../../src/testing/index.ts';
import { everyStep, withClientTool } from './every-step.ts';
import { freePort } from './free-port.ts';
import type { Restate } from './restate.ts';

const program = join(import.meta.dirname, 'restate-service.ts');
const linesOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);

export type Killing = {
  server: Restate;
  /** What is killed after each pause, in ms: the service's process or the server. */
  kills: readonly { afterMs: number; what: 'service' | 'server' }[];
};

let made = 0;

/** Runs the session of every step on Restate while things are killed. Returns what it broke, as sentences. */
export async function restateLives({ server, kills }: Killing) {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-restate-lives-'));
  for (const file of ['effects', 'asked', 'log']) writeFileSync(join(folder, file), '');
  await using model = await startModelServer(withClientTool(everyStep()));
  made += 1;
  const id = `session-${process.pid}-${made}`;
  const port = await freePort();
  const serve = async () => {
    const child = spawn(process.execPath, ['--no-warnings', program, String(port), folder, model.url], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdout.resume();
    return child;
  };
  let service = await serve();
  await server.register(`http://127.0.0.1:${port}`);
  const ask = (path: string, body?: object) =>
    fetch(`${server.ingress}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const ended = { is: false };
  /** Someone outside approves and answers again and again, since what they say may be lost on the way. */
  const answering = (async () => {
    while (!ended.is) {
      for (const line of linesOf(join(folder, 'asked'))) {
        const { type, sessionId, callId } = JSON.parse(line);
        const of = { callId, sessionId: null };
        const message =
          type === 'tool.handedOut'
            ? { type: 'answer', ...of, output: 'Bonn', isError: false }
            : { type: 'approve', ...of, approved: true, reason: null };
        await ask(`/pawl/${encodeURIComponent(sessionId)}/message`, message).catch(() => null);
      }
      await setTimeout(100);
    }
  })();
  const started = await ask(`/pawl/${id}/run/send`, { agent: 'stepping', prompt: 'Do it all.' });
  if (!started.ok) throw new Error(`the session did not start: ${await started.text()}`);
  for (const { afterMs, what } of kills) {
    await setTimeout(afterMs);
    if (what === 'server') {
      await server.kill();
      await server.start();
      continue;
    }
    const gone = new Promise((resolve) => service.once('exit', resolve));
    service.kill('SIGKILL');
    await gone;
    service = await serve();
  }
  let result: SessionResult | null = null;
  while (result === null) {
    const answer = await ask(`/restate/workflow/pawl/${id}/attach`).catch(() => null);
    if (answer?.ok === true) result = JSON.parse(await answer.text());
    else await setTimeout(100);
  }
  ended.is = true;
  await answering;
  service.kill('SIGKILL');
  const once = linesOf(join(folder, 'effects')).filter((effect) => !effect.startsWith('read'));
  const lines = linesOf(join(folder, 'log')).map((line) => JSON.parse(line));
  const warned = lines
    .filter(({ level }) => level === 'warn')
    .map(({ sessionId, turn, attempt }) => `${sessionId} ${turn} ${attempt}`);
  const promises: [boolean, string][] = [
    [result.success && result.report.content === 'Everything is done.', `it ${result.status}: ${result.slugs}`],
    [
      model.requests.length <= result.counters.tree.requests,
      `${model.requests.length} requests, ${result.counters.tree.requests} counted`,
    ],
    [new Set(once).size === once.length, `an effect came twice: ${once.join(', ')}`],
    [new Set(warned).size === warned.length, `a WARN came twice: ${warned.join(', ')}`],
    [lines.every(({ level }) => level !== 'error'), 'there are ERROR lines'],
  ];
  const interrupted = JSON.stringify(result.turns).split('"interrupted"').length - 1;
  const broken = [...brokenPromises(result), ...promises.flatMap(([holds, what]) => (holds ? [] : [what]))];
  return { broken, result, interrupted, folder };
}
