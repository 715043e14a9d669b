import { describe, expect, it } from 'vitest';
import { allow, defineAgent, deny } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { ask, served, texter } from '../support/openai.ts';
import { counters, report, run } from '../support/session.ts';

const said = 'The password of the vault is swordfish.';
const isSecret = ({ content }: { content: unknown }) =>
  String(content).includes('swordfish') ? deny('It tells a secret.') : allow;
const limits = { maxTurns: 2, maxRetries: 1 };

describe('F-5b: a text that a check of the application denied', () => {
  it.each([
    ['checkReport denied', { checkReport: isSecret }, 'report_denied'],
    [
      'checkReport failed on',
      {
        checkReport: () => {
          throw new Error('down');
        },
      },
      'check_failed',
    ],
  ])('and %s is not quoted by a synthetic report', async (_name, checks, slug) => {
    const models = [rehearsalModel([{ text: 'Let me see.', calls: [{ name: 'look' }] }, { text: said }])];
    const agent = defineAgent({
      name: 'guarded',
      models,
      finish: 'text',
      tools: { look: () => 'x' },
      limits,
      ...checks,
    });
    const { result } = await run({ agent });
    expect(result.slugs).toContain(slug);
    expect(result.report.source).toBe('synthetic');
    expect(String(result.report.content)).not.toContain('swordfish');
    expect(String(result.report.content)).toContain('Last text from the model:\nLet me see.');
    const denied = slug === 'report_denied';
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 2, failedAttempts: 1, notices: 1, tokens: result.counters.tokens, costUsd: null },
        slugs: result.counters.slugs,
        reports: { attempted: 1, rejected: 1 },
        collapses: 0,
        toolCalls: { requested: 1, answered: 1, executed: 1, succeeded: 1 },
      }),
    );
    expect(Object.keys(result.counters.slugs)).toContain(denied ? 'report_denied' : 'check_failed');
  });

  it('does not reach a parent', async () => {
    const child = defineAgent({
      name: 'child',
      models: [rehearsalModel(() => ({ text: said }))],
      finish: 'text',
      limits,
      checkReport: isSecret,
    });
    const model = rehearsalModel([
      { calls: [{ name: 'child', input: { prompt: 'Tell.', reason: 'Asked.' } }] },
      report(),
    ]);
    const { result } = await run({ agent: defineAgent({ name: 'parent', models: [model], agents: { child } }) });
    expect(JSON.stringify(model.requests)).not.toContain('swordfish');
    expect(result.success).toBe(true);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 2, tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 2, answered: 2, executed: 1, failed: 1, acknowledged: 1 },
        ...{ tree: result.counters.tree, subAgents: result.counters.subAgents },
      }),
    );
  });

  it('does not reach a chat client', async () => {
    const { url, close } = await served([
      texter([{ text: said }], { limits: { maxTurns: 1, maxRetries: 1 }, checkReport: isSecret }),
    ]);
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'texter', ...ask }),
    });
    expect(answer.status).toBe(422);
    expect(await answer.text()).not.toContain('swordfish');
    await close();
  });
});
