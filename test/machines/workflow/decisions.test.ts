import { describe, expect, it } from 'vitest';
import * as work from '../../../machines/item/item.rules.ts';
import type { ItemContext } from '../../../machines/item/item.types.ts';
import { blockedDraft, draftOf, endsRun, fingerprintOf, reasonOf } from '../../../machines/workflow/incident.rules.ts';
import * as queue from '../../../machines/workflow/queue.rules.ts';
import * as settling from '../../../machines/workflow/settling.rules.ts';
import type { TakenItem } from '../../../machines/workflow/workflow.types.ts';
import { item, worked } from '../../graph/levels/item.ts';
import { expectGolden, transcript } from '../../support/golden.ts';
import { context, failure, incidents, limits, stop } from '../../support/incidents.ts';

describe('W-2: work items drafted from incidents', () => {
  it('match the golden file', () =>
    expectGolden(
      'incidents.txt',
      Object.fromEntries(
        Object.entries(incidents).map(([name, incident]) => [
          name,
          {
            ends: endsRun(incident),
            reason: reasonOf(incident),
            fingerprint: fingerprintOf(incident),
            draft: draftOf(incident, 'now'),
          },
        ]),
      ),
    ));

  it('a blocked item becomes a human action', () =>
    expect(
      transcript({
        plain: blockedDraft(item(1, { component: 'core' }), 'Buy it.\nSoon.', 'now'),
        'with control characters': blockedDraft(item(1), 'Ring\u0007\u0007it\u0007', 'now').title,
        'with a blank end of its line': blockedDraft(item(1), 'Buy it.  \nSoon.', 'now').title,
        'without words': blockedDraft(item(1), ' ', 'now'),
        long: blockedDraft(item(1), `${'a word '.repeat(30)}`, 'now').title,
      }),
    ).toMatchInlineSnapshot(`
      "plain
        &1 {
          item_type: "human_action", title: "Unblock BUG-001: Buy it.", component: "core", priority: "P1",
          evidence: [
            { type: "file", location: "bugs/BUG-001", description: "Item BUG-001, set aside until this is done" },
            { type: "file", location: ".agent-state.json", description: "The state of the run when it failed" },
            { type: "log", location: "agent_runs/now/", description: "The session logs of the run" }
          ],
          description: "Buy it.\\nSoon.", metadata: &2 { required_action: "Buy it.\\nSoon.", blocks: ["BUG-001"] }
        }

      with control characters
        "Unblock BUG-001: Ring it"

      with a blank end of its line
        "Unblock BUG-001: Buy it."

      without words
        *1 with {
          title: "Unblock BUG-001: (no message)", component: "workflow", description: "(no message)",
          metadata: *2 with { required_action: "(no message)" }
        }

      long
        "Unblock BUG-001: a word a word a word a word a word a word a word a word a word a word a word a word a word a word a"
        " word a word a word…"
      "
    `));

  it('fingerprints differ by message but ignore numbers', () => {
    const at = (message: string) => fingerprintOf({ kind: 'critical_error', phase: 'scanning', item: null, message });
    expect(at('took 17 ms')).toBe(at('took 4 ms'));
    expect(at('took long')).not.toBe(at('took 4 ms'));
  });

  it('fingerprints ignore the names of the item, also in lower case', () => {
    const at = (item: string, message: string) =>
      fingerprintOf({ kind: 'critical_error', phase: 'archiving', item, message });
    expect(at('BUG-007', 'BUG-007 is lost: bugs/bug-007-foo is gone')).toBe(
      at('FEAT-2', 'FEAT-2 is lost: features/FEAT-2-bar is gone'),
    );
    expect(at('BUG-007', 'BUG-008 is lost')).not.toBe(at('BUG-007', 'BUG-007 is lost'));
  });
});

const ended = (over: Parameters<typeof worked>[0], more: Partial<TakenItem['end']> = {}): TakenItem => ({
  item: item(3, { component: 'core' }),
  iteration: 2,
  end: { iteration: 2, phase: 'testing', outcome: worked(over), tries: 1, tryErrors: [], changed: ['a.ts'], ...more },
});
const working: TakenItem = { item: item(4), iteration: 3, end: null };
const known = { id: 'BUG-003', title: '', folder: '', isNew: true, why: '' };

describe('W-1: the choice of the next items', () => {
  it('matches the golden file', () => {
    const all = [item(1, { kind: 'human-action' }), item(2, { blocked: true }), item(3), item(4)];
    const scan = { ok: true as const, items: all, stops: [stop], appeared: [], spent: null };
    const refused = { ok: false as const, message: 'no' };
    const unavailable = { agent: 'scan', slugs: [], message: 'twice', requests: 0, lookedFor: ['agents/'] };
    const lost = { outcome: { ok: false as const, unavailable }, at: 5, chance: 0.5 };
    const once = { count: 1, agent: 'scan', errors: ['once'], nextAt: 7 };
    const two = { ...limits, concurrency: 2 };
    const next = (over: Parameters<typeof context>[0]) => queue.nextItems(context(over), all).map(({ id }) => id);
    return expectGolden('queue.txt', {
      next: next({}),
      'with room for two': next({ limits: two }),
      'with room for one more': next({ limits: two, inProgress: [working], tried: ['BUG-004'] }),
      'without room': next({ limits: two, inProgress: [working, working] }),
      'with one taken': next({ tried: ['BUG-003'] }),
      'with one created': next({ created: [known] }),
      'none is left': next({ tried: ['BUG-003', 'BUG-004'] }),
      'with a maximum of one': next({ limits: { ...two, maxItems: 1 } }),
      'with a maximum that is reached': next({ limits: { ...limits, maxItems: 1 }, tried: ['BUG-003'] }),
      remains: [
        queue.itemRemains(context(), scan),
        queue.itemRemains(context(), { ...scan, items: [] }),
        queue.itemRemains(context(), refused),
        queue.itemRemains(context(), { ...scan, spent: '10 requests' }),
      ],
      'after a scan': [
        queue.afterScan(context({ scanTries: once }), { outcome: { ...scan, appeared: [known] } }),
        queue.afterScan(context(), { outcome: { ...scan, spent: '10 requests' } }),
        queue.afterScan(context({ inProgress: [working] }), { outcome: refused }),
      ],
      'the fact of a scan': [
        queue.afterScan(context({ created: [known] }), {
          outcome: { ...scan, appeared: [known, { ...known, id: 'BUG-077' }] },
        }).facts,
      ],
      taken: queue.itemsTaken(context({ tried: ['BUG-009'], iteration: 1, limits: two }), scan),
      'nothing to take': [queue.itemsTaken(context(), { ...scan, items: [] }), queue.itemsTaken(context(), refused)],
      started: queue.itemsStarted(context({ inProgress: [ended({})], taken: [working] })),
      inputs: [
        queue.scanInput(context({ scans: 2 })),
        queue.takeInput(context({ scans: 2, inProgress: [ended({})], taken: [working], tried: ['BUG-003'] })),
        queue.waitInput(context({ scans: 2, scanTries: once })),
        queue.itemInput(context(), working),
      ],
      'its agent cannot be invoked': [
        queue.afterLostScan(context(), lost),
        queue.afterLostScan(context({ scanTries: { ...once, count: 2 } }), lost),
        queue.afterLostScan(context(), { ...lost, outcome: refused }),
        queue.afterLostScan(context(), { ...lost, outcome: scan }),
      ],
      'it may be tried again': [0, 1, 2, 3].map((count) =>
        queue.scanTriesRemain(context({ scanTries: { ...once, count } }), lost.outcome),
      ),
      'it was there': queue.scanTriesRemain(context(), scan),
      'it waits': queue.waitFact(context({ scanTries: once })),
      'an item ends': [
        queue.afterItem(context({ inProgress: [ended({}), working] }), { ...ended({}).end, iteration: 3 } as never),
        queue.afterBrokenItem(context({ inProgress: [working] }), { actorId: 'item.3', error: new Error('oops') }),
      ],
      'still at work': queue.itemActorIds(context({ inProgress: [ended({}), working] })),
    });
  });
});

describe('W-1: how items in progress are settled', () => {
  it('matches the golden file', () => {
    const settled = (over: Parameters<typeof worked>[0], more: Parameters<typeof context>[0] = {}) =>
      context({ inProgress: [ended(over), working], ...more });
    return expectGolden('settling.txt', {
      'the first has ended': [settled({}), context({ inProgress: [working, ended({})] }), context()].map(
        settling.firstHasEnded,
      ),
      'what only its states may ask': (() => {
        try {
          return settling.workWas(context(), 'failed');
        } catch (error) {
          return String(error);
        }
      })(),
      verdict: [settling.workWas(settled({}), 'succeeded'), settling.workWas(settled({}), 'failed')],
      begun: settling.settlingBegun(settled({ stops: [stop] })),
      'left open': settling.leftOpen(settled({ verdict: 'aborted' })),
      broken: settling.workBroken(settled({ verdict: 'critical', message: 'disk' })),
      'its agent is lost': settling.agentLost(settled({ verdict: 'unavailable', lookedFor: ['agents/'] })),
      failed: settling.failed(
        settled(
          { verdict: 'failed', slugs: ['text_only'] },
          { failureCount: 1, failures: [failure(1)], lastFailures: ['BUG-001'] },
        ),
      ),
      conflicted: settling.conflicted(settled({}), { message: 'lines.txt' }),
      succeeded: settling.succeeded(
        settled({}, { succeeded: ['BUG-001'], failureCount: 2, lastFailures: ['BUG-008', 'BUG-009'] }),
      ),
      'succeeded, with a STOP': settling.succeeded(
        settled({}, { stops: [stop, { ...stop, item: 'BUG-003', file: 'bugs/BUG-003/comments.md' }] }),
      ).change.stops,
      'set aside': settling.itemSetAside(settled({ message: 'Buy it.' }, { setAside: ['BUG-001'] }), {
        outcome: { ok: true, created: [known] },
      }),
      'set aside, and nothing created': settling.itemSetAside(settled({}), { outcome: { ok: false, message: 'no' } }),
      inputs: [settling.archiveInput(settled({})), settling.setAsideInput(settled({ message: 'Buy it.' }))],
    });
  });
});

describe('W-1: the work on an item', () => {
  it('matches the golden file', () => {
    const input = { run: 'now', item: item(3), iteration: 2, tests: true, maxTries: 3 };
    const one = (over: Partial<ItemContext> = {}): ItemContext => ({ ...work.freshItem(input), ...over });
    const delivered = (over: Parameters<typeof worked>[0]) => ({ outcome: worked(over), at: 1_000, chance: 0.5 });
    const lost = delivered({ verdict: 'unavailable', message: 'not there' });
    return expectGolden('items.txt', {
      fresh: work.freshItem(input),
      'a try begins': work.tryBegun(one({ tries: 1, work: lost })),
      'the test begins': work.testingBegun(),
      'after work': [
        work.afterWork(one({ changed: ['a'] }), delivered({ changed: ['a', 'b'] })),
        work.afterWork(one({ tryErrors: ['once'] }), lost),
      ],
      'after a defect': work.brokenWork(one({ phase: 'testing' }), new Error('oops')),
      inputs: [
        work.workInput(one({ phase: 'testing', tries: 2 })),
        work.waitInput(one({ phase: 'testing', tries: 2, work: lost })),
      ],
      'tried again': [1, 2, 3, 4].map((tries) => {
        const again = one({ tries, work: lost });
        return [work.triesRemain(again), work.triesAreSpent(again), work.waitFact(again)];
      }),
      'once the run is aborted': [2, 3].map((tries) => {
        const again = one({ tries, work: lost, isAborted: true });
        return [work.triesRemain(again), work.triesAreSpent(again), work.outputOf(again).outcome.verdict];
      }),
      'not unavailable': [
        work.triesRemain(one({ work: delivered({}) })),
        work.triesAreSpent(one({ tries: 3, work: delivered({}) })),
        work.outputOf(one({ work: delivered({}), isAborted: true })).outcome.verdict,
      ],
      tested: [
        work.isToBeTested(one({ work: delivered({}) })),
        work.isToBeTested(one({ work: delivered({ verdict: 'failed' }) })),
        work.isToBeTested(one({ phase: 'testing', work: delivered({}) })),
        work.isToBeTested(one({ tests: false, work: delivered({}) })),
      ],
      ended: [work.endFact(one({ work: lost })), work.endFact(one({ work: lost, isAborted: true }))],
      unavailable: work.unavailableFact(one({ tries: 2, work: lost })),
      output: work.outputOf(one({ phase: 'testing', tries: 2, work: lost, tryErrors: ['a', 'b'], changed: ['c'] })),
    });
  });
});
