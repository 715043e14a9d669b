import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Circumstances } from '../../../machines/attempt/attempt.types.ts';
import { disposeAll } from '../../../machines/attempt/disposition.rules.ts';
import type { NoticeOccasion } from '../../../machines/contract/notice.ts';
import {
  batchOutput,
  type CallFacts,
  callFacts,
  composeNotice,
  historyInput,
  nothingSpent,
  parseToolInput,
  slugs,
  slugTable,
  type ToolOutput,
} from '../../../machines/index.ts';
import { cutShort, denied, executed, settled } from '../../../machines/tool-call/tool-call.rules.ts';
import { slugDocument } from '../../graph/slug-document.ts';
import { expectGolden, transcript } from '../../support/golden.ts';

const plain: Circumstances = {
  replyComplete: true,
  replyTruncated: false,
  replyCutHere: null,
  replyMalformed: false,
  permission: 'all',
  maxToolCalls: 2,
  stopSlug: null,
};
const call = (over: Partial<CallFacts> = {}): CallFacts => ({
  ...callFacts('a', 'search', 'real'),
  wholeInput: true,
  ...over,
});
const valid = { valid: true, content: 'x' } as const;
const invalid = { valid: false, slug: 'final_report_schema_fail', reasons: 'answer is missing' } as const;
const report = (verdict: CallFacts['report']) => call({ tool: 'report', name: 'final_report', report: verdict });

describe('C-1 C-5 B-5 T-2 F-2: tool calls', () => {
  const cases: Record<string, [CallFacts[], Partial<Circumstances>?]> = {
    'a valid call': [[call()]],
    'three of them, with two allowed': [[call(), call(), call()]],
    'one that needs approval counts as one': [[call({ needsApproval: true }), call(), call()]],
    'approval, after a stop': [[call({ needsApproval: true })], { stopSlug: 'stopped' }],
    'approval, after the deadline': [[call({ needsApproval: true })], { stopSlug: 'budget_exhausted' }],
    'a client-side one, after a stop': [[call({ isClientSide: true })], { stopSlug: 'stopped' }],
    'a client-side one that needs approval': [[call({ isClientSide: true, needsApproval: true })]],
    'a stop does not touch what needs none': [[call()], { stopSlug: 'stopped' }],
    'progress, a batch, and a real one': [[call({ tool: 'progress' }), call({ tool: 'batch' }), call(), call()]],
    'progress is no report that was accepted': [[call({ tool: 'progress' }), report(valid)]],
    'an unknown tool': [[call({ tool: 'unknown', name: 'se"arch', detail: 'Offered are: search.' })]],
    'an unknown tool, without end': [[call({ tool: 'unknown', name: 'x'.repeat(200) })]],
    'an unknown tool, and none is offered': [[call({ tool: 'unknown', name: 'x' })]],
    'malformed input': [[call({ input: 'malformed', detail: 'it is an array' })]],
    'invalid input': [[call({ input: 'invalid', detail: 'q is missing' })]],
    'a policy refuses it': [[call({ refusal: { slug: 'policy_denied', reason: 'read it first' } })]],
    'the last turn: a tool, progress, a batch': [
      [call(), call({ tool: 'progress' }), call({ tool: 'batch' })],
      { permission: 'report' },
    ],
    'the last turn: the report': [[report(valid)], { permission: 'report' }],
    'the last turn: a malformed report': [
      [call({ tool: 'report', input: 'malformed', detail: 'null' })],
      { permission: 'report' },
    ],
    'the last turn: an unknown tool': [[call({ tool: 'unknown' })], { permission: 'report' }],
    'a broken stream': [[call(), report(valid), call({ tool: 'unknown' })], { replyComplete: false }],
    'cut off by length: whole and not': [[call(), call({ wholeInput: false })], { replyTruncated: true }],
    'not whole, and not cut off': [[call({ wholeInput: false })]],
    'reports: none, rejected, accepted, repeated': [[report(null), report(invalid), report(valid), report(valid)]],
    'executed by the provider': [
      [
        call({ tool: 'provider', provided: 'success' }),
        call({ tool: 'provider', provided: 'failure' }),
        call({ tool: 'provider', provided: 'missing' }),
        call({ tool: 'provider' }),
      ],
      { replyComplete: false },
    ],
    'executed by the provider on the last turn': [
      [
        call({ tool: 'provider', provided: 'success' }),
        call({ tool: 'provider', provided: 'failure' }),
        call({ tool: 'provider', provided: 'missing' }),
      ],
      { permission: 'report' },
    ],
  };

  it('get the dispositions in the golden file', async () => {
    const disposed = Object.entries(cases).map(([name, [calls, over]]) => [
      name,
      disposeAll(calls, { ...plain, ...over }),
    ]);
    await expectGolden('dispositions.txt', Object.fromEntries(disposed));
  });

  it('get the answers in the golden file', async () => {
    const result = { success: true, value: 1, message: '' };
    await expectGolden('answers.txt', {
      refused: settled({ kind: 'refuse', slug: 'unknown_tool', message: 'There is none.' }),
      acknowledged: settled({ kind: 'acknowledge', message: 'Noted.' }),
      'provided, well': settled({ kind: 'provided', slug: null }),
      'provided, badly': settled({ kind: 'provided', slug: 'tool_exec_failed' }),
      stopped: cutShort('stopped', 7),
      aborted: cutShort('aborted', null),
      'not approved in time': cutShort('approval_timeout', 7),
      broken: cutShort('internal_error', 7),
      denied: denied({ at: 7, chance: 0, outcome: { decision: 'denied', reason: null } }),
      'denied, with a reason': denied({ at: 7, chance: 0, outcome: { decision: 'denied', reason: 'too dear' } }),
      executed: executed({
        at: 7,
        chance: 0,
        outcome: { slug: null, result, output: { type: 'json', value: 1 }, tokens: 3, kept: null, spent: nothingSpent },
      }),
    });
  });

  it('T-2: in a batch get the answers in the golden file', async () => {
    const answer = (success: boolean, output: ToolOutput) => ({ name: 'search', success, output });
    const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } } as const;
    expect(
      transcript({
        none: batchOutput([]),
        'texts and JSON': batchOutput([
          answer(true, { type: 'text', value: 'one' }),
          answer(false, { type: 'error-text', value: 'two' }),
          answer(true, { type: 'json', value: { three: 3 } }),
          answer(false, { type: 'error-json', value: [4] }),
          answer(false, { type: 'execution-denied' }),
          answer(false, { type: 'execution-denied', reason: 'no' }),
        ]),
        'with a picture': batchOutput([
          answer(true, { type: 'text', value: 'one' }),
          answer(true, { type: 'content', value: [{ type: 'text', text: 'see' }, image] }),
        ]),
        'content of texts alone': batchOutput([
          answer(true, { type: 'content', value: [{ type: 'text', text: 'see' }] }),
        ]),
      }),
    ).toMatchInlineSnapshot(`
      "none
        { type: "text", value: "" }

      texts and JSON
        {
          type: "text",
          value: "[0] search: succeeded\\none\\n\\n[1] search: failed\\ntwo\\n\\n[2] search: succeeded\\n{\\"three\\":3}\\n\\n[3] search: failed\\n[4]\\n\\n[4] "
          "search: failed\\nDenied.\\n\\n[5] search: failed\\nDenied: no"
        }

      with a picture
        {
          type: "content",
          value: [
            &1 { type: "text", text: "[0] search: succeeded\\none" }, *1 with { text: "[1] search: succeeded" }, *1 with { text: "see" },
            { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } }
          ]
        }

      content of texts alone
        { type: "text", value: "[0] search: succeeded\\n\\nsee" }
      "
    `);
  });
});

describe('C-2 C-5: tool call input', () => {
  const deep = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
  const inputs: Record<string, string> = {
    nothing: '',
    blank: ' \n',
    object: '{"q": "x", "n": [1, null]}',
    array: '[1]',
    null: 'null',
    number: '7',
    text: '"x"',
    boolean: 'true',
    'cut off': '{"q": "x',
    proto: '{"__proto__": {"a": 1}}',
    'proto, spelt otherwise': '{"__pro\\u0074o__": 1}',
    'proto within': '{"a": [null, 1, {"b": {"__proto__": 1}}]}',
    'proto as a value': '{"a": "__proto__"}',
    'an escape': '{"a": "\\u0041", "b": null}',
    'deep enough': `{"a":${deep(498)}}`,
    'as deep as may be': `{"a":[${deep(498)}]}`,
    'too deep': `{"a":[[${deep(498)}]]}`,
    'brackets in texts': `{"a":"${'[{'.repeat(600)}\\"${'['.repeat(600)}"}`,
    'wide, not deep': `{"a":[${'{"b":[]},'.repeat(600)}1]}`,
  };

  it('is parsed strictly, never guessed', async () => {
    const short = (value: unknown) => {
      const text = JSON.stringify(value);
      return text.length > 200 ? `${text.slice(0, 40)}… ${text.length} characters` : value;
    };
    const read = Object.entries(inputs).map(([name, text]) => [
      name,
      { parsed: short(parseToolInput(text)), history: short(historyInput({ input: text })) },
    ]);
    await expectGolden('inputs.txt', Object.fromEntries(read));
  });
});

describe('N-1 N-2 N-4: the notice', () => {
  const occasion = (over: Partial<NoticeOccasion>): NoticeOccasion => ({
    failed: [],
    denial: null,
    reportOnly: false,
    permits: null,
    lastTurnSlugs: [],
    finish: 'report',
    turn: 2,
    attempt: 1,
    maxAttempts: 3,
    ...over,
  });

  it('N-4: comes from the slug table, which docs/slugs.md shows', () => {
    expect(readFileSync('docs/slugs.md', 'utf8')).toBe(slugDocument());
    for (const slug of slugs) {
      const { happened, todo, todoByText = todo } = slugTable[slug];
      expect(composeNotice(occasion({ failed: [slug] }))).toContain(`${happened} (${slug}).`);
      expect(composeNotice(occasion({ failed: [slug] }))).toContain(` ${todo}`);
      expect(composeNotice(occasion({ failed: [slug], finish: 'text' }))).toContain(` ${todoByText}`);
    }
  });

  it('states what went wrong, why the turn made no progress and what to do', async () => {
    await expectGolden('notices.txt', {
      'nothing is wrong': composeNotice(occasion({})),
      'a second attempt alone is no reason': composeNotice(occasion({ attempt: 2 })),
      'one failure': composeNotice(occasion({ failed: ['text_only'], attempt: 2 })),
      'two, with one thing to do': composeNotice(occasion({ failed: ['text_only', 'no_tools'], attempt: 3 })),
      'a reply that was denied': composeNotice(
        occasion({ failed: ['reply_denied'], denial: 'It names a customer.', attempt: 2 }),
      ),
      'a fault of the provider': composeNotice(occasion({ failed: ['provider_error'], attempt: 2 })),
      'by text': composeNotice(occasion({ failed: ['empty_response', 'unknown_tool'], finish: 'text', attempt: 2 })),
      'the last turn': composeNotice(occasion({ reportOnly: true })),
      'the last turn, by text': composeNotice(occasion({ reportOnly: true, finish: 'text' })),
      'the last turn, for reasons': composeNotice(
        occasion({ reportOnly: true, lastTurnSlugs: ['budget_exhausted', 'stopped', 'budget_exhausted'] }),
      ),
      'the last turn, after a failure that is its reason too': composeNotice(
        occasion({
          reportOnly: true,
          failed: ['final_report_missing'],
          lastTurnSlugs: ['final_report_missing'],
          attempt: 2,
        }),
      ),
      'the last turn, after a failure, for another reason': composeNotice(
        occasion({
          reportOnly: true,
          failed: ['text_only'],
          lastTurnSlugs: ['context_guard'],
          finish: 'text',
          attempt: 3,
        }),
      ),
    });
  });
});
