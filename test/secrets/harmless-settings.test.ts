import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent } from '../../src/index.ts';
import { eventWithoutSecrets } from '../../src/secrets/redact.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { leaking } from '../support/mcp.ts';
import { counters, report, run, tokensOf } from '../support/session.ts';

const reporting = (content: unknown, over: Partial<AgentDefinition>) =>
  defineAgent({ name: 'said', models: [rehearsalModel([report(content)])], ...over });

const once = counters({
  ...{ turns: 1, attempts: 1, tokens: tokensOf(1), costUsd: null, reports: { attempted: 1 } },
  toolCalls: { requested: 1, acknowledged: 1, answered: 1 },
});

describe('S-5: only credentials are secrets', () => {
  it('settings without credentials stay in the report', async () => {
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

  it('a secret that is too short is refused without being shown, and an empty one is ignored', () => {
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

it('S-5: an event without a secret is passed on unchanged; only texts with a secret change', () => {
  const event = { type: 'progress.reported', message: 'the walnut', path: ['walnut'] };
  expect(eventWithoutSecrets(event, ['lantern'])).toBe(event);
  expect(eventWithoutSecrets(event, [])).toBe(event);
  expect(eventWithoutSecrets(event, ['walnut'])).toEqual({ ...event, message: 'the [redacted]' });
});

const secret = 'SuperSecretValue-1234567890';
describe('S-5: secrets are removed before a text is cut', () => {
  it.each([0, 480, 490, 1_990])("in a server's last words, after %d characters", async (before) => {
    const agent = reporting('ok', { mcpServers: { db: leaking(secret, before) } });
    const { result, events, lines } = await run({ agent });
    expect(result).toMatchObject({ success: false, slugs: ['tools_unavailable'] });
    expect(result.counters.requests).toBe(0);
    expect(JSON.stringify([result, events, lines])).not.toContain('SuperSec');
  });

  it("in a server's last words, also if the secret is not the server's own", async () => {
    const words = `process.stderr.write('.'.repeat(485) + 'correct-horse-battery-staple'); setTimeout(() => process.exit(1), 50)`;
    const agent = reporting('ok', {
      secrets: ['correct-horse-battery-staple'],
      mcpServers: { db: { command: process.execPath, args: ['-e', words] } },
    });
    const { result } = await run({ agent });
    expect(result.report.content).toContain('(stderr: …)');
    expect(JSON.stringify(result)).not.toContain('correct-horse');
  });

  it('in the prompt and the last text, as a failed session reports them', async () => {
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
});
