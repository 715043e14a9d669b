import { describe, expect, it } from 'vitest';
import { faultKinds } from '../../../machines/contract/faults.ts';
import { afterFault, afterReply, chooseTarget, faultSlug, freshTargets, orderFrom } from '../../../machines/index.ts';
import * as ending from '../../../machines/turn/ending.rules.ts';
import * as turn from '../../../machines/turn/turn.rules.ts';
import { transcript } from '../../support/golden.ts';
import { fault } from '../../support/replies.ts';
import { context, failed, limited, noBudget, out } from '../../support/turns.ts';

describe('B-3 B-4 P-2 P-3: the ends of a turn, its collapses and its targets', () => {
  it('at its end are these', () =>
    expect(
      transcript({
        'it can': ending.exhaustionOf(context()),
        'no attempt': ending.exhaustionOf(context({ attempt: 3 })),
        'no attempt, one request left': ending.exhaustionOf(
          context({ attempt: 3, budget: { ...noBudget, tokens: 1 }, spent: { requests: 1, tokens: 1, costUsd: 0 } }),
        ),
        'no request': ending.exhaustionOf(
          context({ budget: { ...noBudget, requests: 1 }, spent: { requests: 1, tokens: 1, costUsd: 0 } }),
        ),
        'no target': ending.exhaustionOf(context({ targets: [out('one')], attempt: 3 })),
        'all limited for long': ending.exhaustionOf(context({ targets: [limited('one', 62_000)] })),
        'all limited for long, and no attempt': ending.exhaustionOf(
          context({ targets: [limited('one', 62_000)], attempt: 3 }),
        ),
        'all limited for long, and no request': ending.exhaustionOf(
          context({
            targets: [limited('one', 62_000)],
            budget: { ...noBudget, requests: 1 },
            spent: { requests: 1, tokens: 1, costUsd: 0 },
          }),
        ),
        'all limited for a while': ending.exhaustionOf(context({ targets: [limited('one', 61_000)] })),
        'excluded: not': turn.exclusionFacts(context({ last: failed({ fault: fault('auth') }) })),
        'excluded: not by this attempt': turn.exclusionFacts(context({ targets: [out('one')], last: failed() })),
        'excluded: before the first': turn.exclusionFacts(context({ targets: [out('one')], last: null })),
        excluded: turn.exclusionFacts(context({ targets: [out('one')], last: failed({ fault: fault('auth') }) })),
        'excluded: no such target': turn.exclusionFacts(
          context({ current: 9, last: failed({ fault: fault('auth') }) }),
        ),
        'output: nothing happened': ending.outputOf(context({ attempt: 0 }), 'aborted'),
        'output: succeeded': ending.outputOf(context({ last: failed({ slugs: [] }) }), 'progressed'),
        'output: exhausted': ending.outputOf(
          context({ attempt: 3, last: failed({ fault: fault('server'), detail: 'server' }) }),
          'exhausted',
        ),
        'output: exhausted for no reason': ending.outputOf(context({}), 'exhausted'),
      }),
    ).toMatchInlineSnapshot(`
      "it can
        null

      no attempt
        &1 { why: "attempts", retryAt: null }

      no attempt, one request left
        &2 *1 with { why: "budget" }

      no request
        *2

      no target
        *1 with { why: "targets" }

      all limited for long
        &3 { why: "limited", retryAt: 62000 }

      all limited for long, and no attempt
        *1 with { retryAt: 62000 }

      all limited for long, and no request
        *3 with { why: "budget" }

      all limited for a while
        null

      excluded: not
        []

      excluded: not by this attempt
        []

      excluded: before the first
        []

      excluded
        { type: "target.excluded", target: "one", slug: "provider_auth", detail: "no" }

      excluded: no such target
        []

      output: nothing happened
        &4 {
          status: "aborted", exhaustion: null, slugs: [], detail: null, attempts: 0,
          targets: [
            &5 { name: "one", status: "living", limitedUntil: 0, faults: 0, windowTokens: null, mended: false }, *5 with { name: "two" }
          ],
          current: 0, spent: { requests: 0, tokens: 0, costUsd: 0 }, at: 1000,
          size: {
            counted: 0, estimated: 0, steering: 0, results: [], fresh: { results: [], counted: false }, text: { tokens: 0, counted: false },
            omitted: ["a"], omittedText: 0
          },
          gated: []
        }

      output: succeeded
        *4 with { status: "progressed", attempts: 1 }

      output: exhausted
        &6 *4 with { status: "exhausted", exhaustion: *1, slugs: ["text_only"], detail: "server", attempts: 3 }

      output: exhausted for no reason
        *6 with { slugs: [], detail: null, attempts: 1 }
      "
    `));

  it('B-4: on collapses are these', () => {
    const spent = { budget: { ...noBudget, tokens: 1 }, spent: { requests: 1, tokens: 1, costUsd: 0 } };
    const rejected = failed({ reportSlugs: ['final_report_missing', 'final_report_missing'] });
    expect(
      transcript({
        'before the first attempt': turn.collapseRequests(context({ ...spent, last: null })),
        'it finished': turn.collapseRequests(context({ ...spent, last: { ...rejected, status: 'finished' } })),
        'a rejected report': turn.collapseRequests(context({ last: rejected })),
        'the budget': turn.collapseRequests(context({ ...spent, last: failed() })),
        both: turn.collapseRequests(context({ ...spent, last: rejected })),
        'nothing is wrong': turn.collapseRequests(context({ last: failed() })),
      }),
    ).toMatchInlineSnapshot(`
      "before the first attempt
        []

      it finished
        []

      a rejected report
        &1 { type: "collapse.requested", reason: "final_report_rejected", slugs: ["final_report_missing"] }

      the budget
        &2 *1 with { reason: "budget", slugs: ["budget_exhausted"] }

      both
        *1
        *2

      nothing is wrong
        []
      "
    `);
  });

  it('P-2 P-3: on the state and choice of targets are these', () => {
    const three = freshTargets(['one', 'two', 'three']);
    expect(
      transcript({
        ...Object.fromEntries(
          faultKinds.map((kind) => [`after ${kind}`, [afterFault(three, 1, fault(kind), 1_000, 0.5), faultSlug(kind)]]),
        ),
        'after a Retry-After': afterFault(three, 0, fault('rate_limited', { retryAfterMs: 9_000 }), 1_000, 0.5),
        'after the second fault': afterFault(
          afterFault(three, 0, fault('network'), 0, 0.5),
          0,
          fault('network'),
          1_000,
          0.5,
        ),
        'after a reply': afterReply(afterFault(three, 0, fault('network'), 0, 0.5), 0),
        'the next, wrapping round': chooseTarget(three, orderFrom(three, 3), 0, 0),
        'past one that is out': chooseTarget([out('one'), ...three], [0, 1, 2, 3], 0, 0),
        'free at this moment': chooseTarget([limited('one', 5)], [0], 0, 5),
        'the earliest, the first of several': chooseTarget(
          [limited('one', 50), limited('two', 40), limited('three', 40)],
          [0, 1, 2],
          0,
          0,
        ),
        'within the longest wait': chooseTarget([limited('one', 60_000)], [0], 0, 0),
        'beyond it': chooseTarget([limited('one', 60_001)], [0], 0, 0),
        'of those that a plan names, in its order': chooseTarget(three, [2, 0], 0, 0),
        'the one after, of those that a plan names': chooseTarget(three, [2, 0], 1, 0),
        'of those that a plan names, wrapping round': chooseTarget(three, [2, 0], 2, 0),
        'none at all': chooseTarget([], [], 0, 0),
      }),
    ).toMatchInlineSnapshot(`
      "after auth
        [
          &1 { name: "one", status: "living", limitedUntil: 0, faults: 0, windowTokens: null, mended: false }, &2 *1 with { name: "two", status: "out" },
          &3 *1 with { name: "three" }
        ]
        "provider_auth"

      after quota
        [ *1, *2, *3 ]
        "provider_quota"

      after rate_limited
        [ *1, &4 *1 with { name: "two", limitedUntil: 2500, faults: 1 }, *3 ]
        "rate_limited"

      after timeout
        [ *1, *4, *3 ]
        "provider_timeout"

      after network
        [ *1, *4, *3 ]
        "network_error"

      after server
        [ *1, *4, *3 ]
        "provider_error"

      after invalid_request
        [ *1, *2, *3 ]
        "invalid_request"

      after context_length
        [ *1, *1 with { name: "two", windowTokens: 1 }, *3 ]
        "context_guard"

      after content_filter
        [ *1, &5 *1 with { name: "two" }, *3 ]
        "content_filtered"

      after malformed_call
        [ *1, *5, *3 ]
        "malformed_tool_call"

      after unavailable
        [ *1, *2, *3 ]
        "target_unavailable"

      after interrupted
        [ *1, *5, *3 ]
        "interrupted"

      after denied
        [ *1, *5, *3 ]
        "reply_denied"

      after unchecked
        [ *1, *5, *3 ]
        "check_failed"

      after a Retry-After
        *1 with { limitedUntil: 10000, faults: 1 }
        *5
        *3

      after the second fault
        *1 with { limitedUntil: 4000, faults: 2 }
        *5
        *3

      after a reply
        *1
        *5
        *3

      the next, wrapping round
        { kind: "free", target: 0 }

      past one that is out
        { kind: "free", target: 1 }

      free at this moment
        { kind: "free", target: 0 }

      the earliest, the first of several
        &6 { kind: "wait", target: 1, dueAt: 40 }

      within the longest wait
        *6 with { target: 0, dueAt: 60000 }

      beyond it
        { kind: "beyond", dueAt: 60001 }

      of those that a plan names, in its order
        { kind: "free", target: 2 }

      the one after, of those that a plan names
        { kind: "free", target: 0 }

      of those that a plan names, wrapping round
        { kind: "free", target: 2 }

      none at all
        { kind: "none" }
      "
    `);
  });
});
