import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventWithoutSecrets } from '../../src/agent/redact.ts';
import {
  type AgentDefinition,
  defineAgent,
  readSession,
  replaySession,
  resumeSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, report, run, tokensOf } from '../support/session.ts';

const reporting = (content: unknown, over: Partial<AgentDefinition>) =>
  defineAgent({ name: 'said', models: [rehearsalModel([report(content)])], ...over });

const once = counters({
  ...{ turns: 1, attempts: 1, tokens: tokensOf(1), costUsd: null, reports: { attempted: 1 } },
  toolCalls: { requested: 1, acknowledged: 1, answered: 1 },
});

describe('S-5: only credentials are secrets', () => {
  it('settings that open nothing stay in the report', async () => {
    const content = { table: 'postgres', schema: 'public', category: 'invoices', mode: 'session' };
    const { result, events } = await run({
      agent: reporting(content, {
        report: { format: 'json', schema: z.object({ category: z.enum(['invoices']) }).loose() },
        settings: { headers: { 'x-mode': 'session' }, providerOptions: { openai: { promptCacheKey: 'invoices' } } },
        mcpServers: {
          db: {
            ...{ command: 'no-such-command', optional: true },
            env: { DATABASE_URL: 'postgres://postgres@localhost/app?schema=public' },
          },
        },
      }),
    });
    expect(result.report.content).toEqual(content);
    expect(events[0]?.type).toBe('session.started');
    expect(result.counters).toEqual(once);
  });

  it('a text that is too short to be one is refused, and not shown; an empty one is none', () => {
    const define = (secrets: string[]) => () => defineAgent({ name: 'a', models: [rehearsalModel([])], secrets });
    expect(define(['long enough', '4711'])).toThrow('`secrets[1]` must have at least 6 characters.');
    expect(define(['4711'])).not.toThrow('4711');
    expect(define(['', 'sixsix'])).not.toThrow();
  });

  it("a secret in Pawl's own words changes neither the kind of an event nor the ids of sessions and calls", async () => {
    const ask = { needsApproval: true, inputSchema: z.object({}), execute: () => 'asked' };
    const model = rehearsalModel([{ calls: [{ name: 'ask' }] }, report('the session of tenant-42')]);
    const agent = defineAgent({
      name: 'said',
      models: [model],
      tools: { ask },
      secrets: ['session', 'tenant-42', 'approval'],
    });
    const { result, events } = await run({
      agent,
      options: { sessionId: 'tenant-42-chat' },
      during: (event, session) => {
        if (event.type !== 'tool.approvalRequested') return;
        expect(session.approve(event.callId, { approved: true, sessionId: event.sessionId })).toBe(true);
      },
    });
    expect(result.report.content).toBe('the [redacted] of [redacted]');
    expect(events.map(({ type }) => type)).toContain('session.succeeded');
    expect(new Set(events.map(({ sessionId }) => sessionId))).toEqual(new Set(['tenant-42-chat']));
    expect(result.counters.toolCalls).toMatchObject({ requested: 2, executed: 1, answered: 2 });
  });
});

it('S-5: an event without a secret is passed on as it is, and another changes only where it holds one', () => {
  const event = { type: 'progress.reported', message: 'the walnut', path: ['walnut'] };
  expect(eventWithoutSecrets(event, ['lantern'])).toBe(event);
  expect(eventWithoutSecrets(event, [])).toBe(event);
  expect(eventWithoutSecrets(event, ['walnut'])).toEqual({ ...event, message: 'the [redacted]' });
});

const secret = 'SuperSecretValue-1234567890';
/** A server that writes a line which ends in its secret, and ends. */
const dying = (before: number) => ({
  command: process.execPath,
  env: { API_KEY: secret },
  args: [
    '-e',
    `process.stderr.write('x '.repeat(${before / 2}) + process.env.API_KEY + '\\n'); setTimeout(() => process.exit(1), 50)`,
  ],
});

describe('S-5: a text is cut once no secret is in it', () => {
  it.each([0, 480, 490, 1_990])('the last words of a server, after %d characters', async (before) => {
    const agent = reporting('ok', { mcpServers: { db: dying(before) } });
    const { result, events, lines } = await run({ agent });
    expect(result).toMatchObject({ success: false, slugs: ['tools_unavailable'] });
    expect(result.counters.requests).toBe(0);
    expect(JSON.stringify([result, events, lines])).not.toContain('SuperSec');
  });

  it('the last words of a server, cut within a secret that is not its own', async () => {
    const words = `process.stderr.write('.'.repeat(485) + 'correct-horse-battery-staple'); setTimeout(() => process.exit(1), 50)`;
    const agent = reporting('ok', {
      secrets: ['correct-horse-battery-staple'],
      mcpServers: { db: { command: process.execPath, args: ['-e', words] } },
    });
    const { result } = await run({ agent });
    expect(result.report.content).toContain('(stderr: …)');
    expect(JSON.stringify(result)).not.toContain('correct-horse');
  });

  it('of a prompt and of the last text, in the report of a session that failed', async () => {
    const model = rehearsalModel([{ text: `${'y'.repeat(3_990)}${secret}` }]);
    const agent = defineAgent({
      ...{ name: 'cut', models: [model], secrets: [secret], limits: { maxTurns: 1, maxRetries: 1 } },
      ...{ report: { format: 'json' } },
    });
    const { result } = await run({ agent, options: { prompt: `${'x'.repeat(490)}${secret}` } });
    expect(result.success).toBe(false);
    expect(result.report.content).toContain('yyy[redac');
    expect(result.report.content).not.toContain('SuperSec');
  });

  it('D-4: a session that cannot be resumed says why without them', async () => {
    const journal = sqliteJournal(':memory:');
    const define = (server: object) => ({
      ...{ name: 'resumed', models: [rehearsalModel([{ hangs: true }])] },
      mcpServers: { db: server as never },
    });
    const { odd } = await import('../support/mcp.ts');
    const session = startSession(defineAgent(define(odd())), { prompt: 'Go.', journal, sessionId: 's', logger: false });
    for await (const { type } of session.events) if (type === 'attempt.started') break;
    await session.suspend({ graceMs: 0 });
    const resumed = resumeSession(defineAgent(define(dying(0))), { journal, sessionId: 's', logger: false });
    await expect(resumed).rejects.toMatchObject({ code: 'tools_unavailable' });
    await expect(resumed).rejects.toThrow('[redacted]');
    await expect(resumed).rejects.not.toThrow('SuperSec');
    await journal.close();
  });

  it('D-6: of a replay, also as JSON writes them, and none that is empty', async () => {
    const journal = sqliteJournal(':memory:');
    const model = rehearsalModel([{ calls: [{ name: 'q', input: { p: 'pa"ss/word-1' } }] }, report()]);
    const agent = defineAgent({ name: 'a', models: [model], tools: { q: () => 1 } });
    await run({ agent, options: { journal, sessionId: 's' } });
    const { events } = await replaySession(journal, 's', { secrets: ['pa"ss/word-1', ''] });
    expect(events[0]?.type).toBe('session.started');
    expect(JSON.stringify(events)).not.toContain('ss/word-1');
    expect(JSON.stringify((await readSession(journal, 's', { secrets: ['pa"ss/word-1'] })).events)).not.toContain(
      'ss/word',
    );
    await journal.close();
  });
});
