import { describe, expect, it } from 'vitest';
import {
  type AgentDefinition,
  allow,
  type CheckInput,
  defineAgent,
  deny,
  type ReportFormat,
  replace,
  resumeSession,
  runSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { counters, report, run, runOverWire, tokensOf, wireModel } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

const said = (text: string) => [{ role: 'user' as const, content: text }];
/** A reply that is withheld or a report that is refused, then an accepted report. */
const second = {
  turns: 1,
  attempts: 2,
  failedAttempts: 1,
  notices: 1,
  tokens: tokensOf(2),
  costUsd: null,
};

describe('G-1: the input is checked', () => {
  const checked = (checkInput: CheckInput, prompt = 'My card is 4111.') =>
    runOverWire({ script: [report()], definition: { checkInput }, options: { prompt, context: { user: 'ada' } } });

  it('allowed, it is sent as it is; replaced, only the replacement is sent and kept', async () => {
    const kept = await checked(() => allow);
    expect(kept.requests[0]?.body.messages[0]?.content).toBe('My card is 4111.');
    const replaced = await checked(({ messages }, { context }) => {
      expect(messages).toMatchObject([{ role: 'user', content: [{ type: 'text', text: 'My card is 4111.' }] }]);
      return replace(said(`${(context as { user: string }).user}'s card is ****.`));
    });
    expect(replaced.result.success).toBe(true);
    expect(replaced.result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 1,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(1),
        costUsd: null,
      }),
    );
    expect(replaced.requests[0]?.body.messages[0]?.content).toBe("ada's card is ****.");
    expect(JSON.stringify(replaced.result.conversation)).not.toContain('4111');
  });

  it.each<[string, CheckInput, string, string]>([
    ['denied', () => deny('It holds a card number.'), 'input_denied', 'It holds a card number.'],
    ['not checked', () => Promise.reject(new Error('offline')), 'check_failed', 'checkInput() failed: offline'],
    [
      'without a verdict',
      (() => true) as never,
      'check_failed',
      'checkInput() failed: `its verdict` must be `allow`, `deny(reason)` or `replace(value)`; got true.',
    ],
    [
      'replaced by nothing',
      () => replace([]),
      'check_failed',
      'checkInput() failed: `value` must be an array of messages with content; got [].',
    ],
  ])('%s, it ends the session before any request', async (_how, checkInput, slug, detail) => {
    const { result, requests } = await checked(checkInput);
    expect(result).toMatchObject({ status: 'failed', slugs: [slug], failure: { detail } });
    expect(result.counters).toEqual(counters({ slugs: { [slug]: 1 } }));
    expect(requests).toEqual([]);
  });

  it('D-3: a resumed session keeps the replacement, and its check does not run again', async () => {
    await using server = await startModelServer([searchCall, report()]);
    let checks = 0;
    const made = () =>
      defineAgent({
        name: 'checked',
        models: [wireModel('openai', server.url)],
        tools: { search: { ...search, needsApproval: true } },
        checkInput: () => {
          checks += 1;
          return replace(said('Replaced.'));
        },
      });
    const journal = sqliteJournal(freshFile());
    const first = startSession(made(), { prompt: 'Given.', journal, logger: false });
    for await (const event of first.events) if (event.type === 'tool.approvalRequested') break;
    await first.suspend();
    const again = await resumeSession(made(), { journal, sessionId: first.sessionId, logger: false });
    for await (const event of again.events)
      if (event.type === 'tool.approvalRequested') again.approve(event.callId, { approved: true });
    const result = await again.result;
    expect(result.success).toBe(true);
    expect(result.counters).toMatchObject({ turns: 2, attempts: 2, requests: 2 });
    expect(server.requests.map(({ body }) => body.messages[0]?.content)).toEqual(['Replaced.', 'Replaced.']);
    expect(checks).toBe(1);
    await journal.close();
  });
});

describe('G-2: each reply is checked', () => {
  const denies = { checkReply: ({ text }: { text: string }) => (text.includes('Ada') ? deny('It names Ada.') : allow) };

  it('denied, it is shown nowhere, none of its calls runs, and the model is told why', async () => {
    const { result, requests, events, warnings } = await runOverWire({
      script: [{ ...searchCall, text: 'Ask Ada.' }, report()],
      definition: { tools: { search }, ...denies },
    });
    expect(result.success).toBe(true);
    expect(result.counters).toEqual(
      counters({
        ...second,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        slugs: { reply_denied: 1 },
      }),
    );
    expect(JSON.stringify(requests[1]?.body.messages.at(-1))).toContain('(reply_denied)');
    expect(JSON.stringify(requests[1]?.body.messages.at(-1))).toContain('The reason: It names Ada.');
    expect(JSON.stringify(requests[1]?.body.messages)).not.toContain('Ask Ada.');
    expect(JSON.stringify([events, result.conversation, result.turns])).not.toContain('Ask Ada.');
    expect(warnings).toMatchObject([{ slugs: ['reply_denied'], detail: 'It names Ada.', reply: null }]);
    expect(events.filter(({ type }) => type === 'model.delta')).toEqual([]);
  });

  it('replaced, its text is another everywhere, and its calls run', async () => {
    const { result, requests, events } = await runOverWire({
      script: [{ ...searchCall, text: 'Ask Ada.' }, report()],
      definition: { tools: { search }, checkReply: ({ text }) => replace(text.replaceAll('Ada', '[name]')) },
    });
    expect(result.success).toBe(true);
    expect(result.counters).toMatchObject({ turns: 2, failedAttempts: 0, toolCalls: { executed: 1 } });
    expect(requests[1]?.body.messages[1]).toMatchObject({ role: 'assistant', content: 'Ask [name].' });
    expect(JSON.stringify([events, result.conversation])).not.toContain('Ada');
  });

  it('C-5: one that broke off is checked too, and its model is told why', async () => {
    const { result, events } = await runOverWire({
      script: [{ text: `Ask Ada. ${'And then? '.repeat(90)}`, cut: { afterBytes: 900, how: 'end' } }, report()],
      definition: denies,
    });
    expect(result.success).toBe(true);
    expect(result.counters).toMatchObject({ attempts: 2, failedAttempts: 1, slugs: { reply_denied: 1 } });
    expect(JSON.stringify(events)).not.toContain('Ask Ada');
  });

  it('not checked, it is withheld, and the model is not at fault', async () => {
    let calls = 0;
    const { result, warnings } = await runOverWire({
      script: [{ text: 'Ask Ada.' }, report()],
      definition: {
        checkReply: () => {
          calls += 1;
          if (calls === 1) throw new Error('offline');
          return allow;
        },
      },
    });
    expect(result.success).toBe(true);
    expect(result.counters).toEqual(
      counters({
        ...second,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        slugs: { check_failed: 1 },
      }),
    );
    expect(warnings).toMatchObject([{ detail: 'checkReply() failed: offline', reply: null }]);
  });

  it('B-2: one that denies every reply ends the session within its bound', async () => {
    const { result } = await runOverWire({
      script: Array.from({ length: 9 }, () => report()),
      definition: { checkReply: () => deny('Never.'), limits: { maxTurns: 3, maxRetries: 2 } },
    });
    expect(result.slugs).toEqual(['retries_exhausted', 'reply_denied']);
    expect(result.counters).toMatchObject({ turns: 1, attempts: 2, requests: 2, failedAttempts: 2 });
  });
});

describe('G-3: the report is checked', () => {
  it.each([
    ['called', {}, report('Ada did it.'), report('They did it.'), 'tool_call'],
    ['as text', { finish: 'text' }, { text: 'Ada did it.' }, { text: 'They did it.' }, 'text_fallback'],
  ] as const)(
    'F-2: denied, it is answered with the reason and collapses the session (%s)',
    async (_how, over, bad, good, source) => {
      const { result, requests, events } = await runOverWire({
        script: [bad, good],
        definition: {
          ...(over as Partial<AgentDefinition>),
          checkReport: ({ content }) => (String(content).includes('Ada') ? deny('It names Ada.') : allow),
        },
      });
      expect(result).toMatchObject({ success: true, report: { content: 'They did it.', source } });
      expect(result.counters).toMatchObject({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        collapses: 1,
        reports: { attempted: 2, rejected: 1 },
        slugs: { report_denied: 1 },
      });
      expect(events.find(({ type }) => type === 'report.rejected')).toMatchObject({
        slug: 'report_denied',
        reasons: 'It names Ada.',
      });
      if (source === 'tool_call') expect(JSON.stringify(requests[1]?.body.messages)).toContain('It names Ada.');
    },
  );

  it('replaced, the session ends with the other content; not checked, it is not accepted', async () => {
    const replaced = await runOverWire({
      script: [report('Ada did it.')],
      definition: { checkReport: ({ content }) => replace(String(content).replace('Ada', '[name]')) },
    });
    expect(replaced.result).toMatchObject({ success: true, report: { content: '[name] did it.' } });
    const unchecked = await runOverWire({
      script: [report(), report()],
      definition: { checkReport: () => Promise.reject(new Error('offline')), limits: { maxRetries: 2 } },
    });
    expect(unchecked.result.slugs).toEqual(['retries_exhausted', 'check_failed']);
    const detail = 'checkReport() failed: offline';
    expect(unchecked.result.failure).toMatchObject({ detail });
    const told = unchecked.lines.filter(({ level }) => level >= 40).map((line) => [line.event, line.detail]);
    expect(told).toEqual([
      ['attempt.failed', detail],
      ['attempt.failed', detail],
      ['session.failed', detail],
    ]);
    expect(unchecked.result.counters).toMatchObject({ collapses: 0, reports: { attempted: 2, rejected: 2 } });
  });

  it('the error of a format is the detail too, without secrets (S-5)', async () => {
    const format: ReportFormat = {
      ...{ name: 'own', description: 'Anything.', contentSchema: {} },
      validate: () => {
        throw new Error('offline, with hunter-two-22');
      },
      parseText: (text) => ({ ok: true, content: text }),
    };
    const { result } = await runOverWire({
      script: [report()],
      definition: { report: { format }, secrets: ['hunter-two-22'], limits: { maxRetries: 1 } },
    });
    expect(result.failure?.detail).toBe('the format own failed on it: offline, with [redacted]');
    const long = await runOverWire({
      script: [report()],
      definition: { checkReport: () => Promise.reject(new Error('x'.repeat(300_000))), limits: { maxRetries: 1 } },
    });
    expect(long.result.failure?.detail?.length).toBe(4_000);
    expect(JSON.stringify(result)).not.toContain('hunter');
  });

  it('T-8: the checks of the first agent hold after a handoff, with those of the other', async () => {
    await using server = await startModelServer([
      { calls: [{ name: 'transfer_to_billing', input: {} }] },
      report('Ada owes 7.'),
    ]);
    const models = [wireModel('openai', server.url)];
    const billing = defineAgent({
      name: 'billing',
      models,
      checkReport: ({ content }) => replace(`${content} Billing agrees.`),
    });
    const agent = defineAgent({
      name: 'desk',
      models,
      handoffs: { billing },
      checkReport: ({ content }) => replace(String(content).replace('Ada', '[name]')),
    });
    const { result } = await run({ agent, requests: server.requests });
    expect(result).toMatchObject({ success: true, report: { content: '[name] owes 7. Billing agrees.' } });
    expect(result.counters).toMatchObject({ turns: 2, attempts: 2, requests: 2 });
  });
});

it('G-1: checks that are no functions are refused when the agent is defined', async () => {
  const models = [wireModel('openai', 'http://127.0.0.1:9')];
  expect(() => defineAgent({ name: 'x', models, checkReply: 'no' as never })).toThrow(
    '`checkReply` must be a function; got "no".',
  );
  const agent = defineAgent<{ format: 'text' }, { user: string }>({
    name: 'typed',
    models,
    checkInput: (_, { context }) => deny(`Not you, ${context.user}.`),
  });
  const result = await runSession(agent, { prompt: 'Go.', context: { user: 'ada' }, logger: false });
  expect(result).toMatchObject({ slugs: ['input_denied'], failure: { detail: 'Not you, ada.' } });
});
