import { describe, expect, it } from 'vitest';
import { blockedDraft, draftOf, endsRun, fingerprintOf, reasonOf } from '../../../machines/workflow/incident.rules.ts';
import * as items from '../../../machines/workflow/item.rules.ts';
import { item, worked } from '../../graph/levels/workflow.ts';
import { expectGolden } from '../../support/golden.ts';
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
    expectGolden('blocked.txt', {
      plain: blockedDraft(item(1, { component: 'core' }), 'Buy it.\nSoon.', 'now'),
      'with control characters': blockedDraft(item(1), 'Ring\u0007\u0007it\u0007', 'now').title,
      'with a blank end of its line': blockedDraft(item(1), 'Buy it.  \nSoon.', 'now').title,
      'without words': blockedDraft(item(1), ' ', 'now'),
      long: blockedDraft(item(1), `${'a word '.repeat(30)}`, 'now').title,
    }));

  it('fingerprints differ by message but ignore numbers', () => {
    const at = (message: string) => fingerprintOf({ kind: 'critical_error', phase: 'scanning', item: null, message });
    expect(at('took 17 ms')).toBe(at('took 4 ms'));
    expect(at('took long')).not.toBe(at('took 4 ms'));
  });
});

describe('W-1: the choice of the next item and its outcome', () => {
  it('match the golden file', () => {
    const all = [item(1, { kind: 'human-action' }), item(2, { blocked: true }), item(3), item(4)];
    const work = (over: Parameters<typeof worked>[0]) => ({
      phase: 'processing' as const,
      outcome: worked(over),
      at: 1_000,
      chance: 0.5,
    });
    const known = { id: 'BUG-003', title: '', folder: '', isNew: true, why: '' };
    const scan = { ok: true as const, items: all, stops: [stop], appeared: [], spent: null };
    const refused = { ok: false as const, message: 'no' };
    const under = { item: item(3), iteration: 2, tries: 2 };
    return expectGolden('items.txt', {
      next: items.nextItem(context(), all)?.id,
      'next, with one taken': items.nextItem(context({ tried: ['BUG-003'] }), all)?.id,
      'next, with one created': items.nextItem(context({ created: [known] }), all)?.id,
      'none is left': items.nextItem(context({ tried: ['BUG-003', 'BUG-004'] }), all),
      'one is allowed': items.nextItem(context({ limits: { ...limits, maxItems: 1 } }), all)?.id,
      'and no more': items.nextItem(context({ limits: { ...limits, maxItems: 1 }, tried: ['BUG-003'] }), all),
      remains: [
        items.itemRemains(context(), scan),
        items.itemRemains(context(), { ...scan, items: [] }),
        items.itemRemains(context(), refused),
        items.itemRemains(context(), { ...scan, spent: '10 requests' }),
      ],
      'after a scan': [
        items.afterScan(context(), { outcome: { ...scan, appeared: [known] } }),
        items.afterScan(context(), { outcome: { ...scan, spent: '10 requests' } }),
        items.afterScan(context(), { outcome: refused }),
      ],
      'the fact of a scan': [
        items.afterScan(context({ created: [known] }), {
          outcome: { ...scan, appeared: [known, { ...known, id: 'BUG-077' }] },
        }).facts,
      ],
      taken: items.withItem(context({ tried: ['BUG-009'], iteration: 1, tries: 3 }), scan),
      'nothing to take': [items.withItem(context(), { ...scan, items: [] }), items.withItem(context(), refused)],
      inputs: [
        items.scanInput(context({ scans: 2 })),
        items.workInput(context({ ...under, phase: 'testing' })),
        items.waitInput(context({ ...under, work: work({}) })),
        items.archiveInput(context(under)),
        items.setAsideInput(context({ ...under, work: work({ message: 'Buy it.' }) })),
      ],
      'after work': [
        items.afterWork(context(), work({ stops: [stop] })),
        items.afterWork(context({ phase: 'testing' }), work({ verdict: 'critical', message: 'disk' })),
      ],
      failed: items.failed(
        context({
          ...under,
          work: work({ verdict: 'failed', slugs: ['text_only'] }),
          failureCount: 1,
          failures: [failure(1)],
        }),
      ),
      'succeeded, with a STOP': items.succeeded(
        context({ ...under, stops: [stop, { ...stop, item: 'BUG-003', file: 'bugs/BUG-003/comments.md' }] }),
      ).change.stops,
      succeeded: items.succeeded(context({ ...under, succeeded: ['BUG-001'], failureCount: 2 })),
      'set aside': items.itemSetAside(context({ ...under, setAside: ['BUG-001'] }), {
        outcome: { ok: true, created: [known] },
      }),
      'a scan begins': [
        items.scanBegun(context()),
        items.scanBegun(context({ scans: 1, tries: 1, tryErrors: ['not there'] })),
        items.scanBegun(context({ ...under, scans: 1, tryErrors: ['not there'] })),
      ].map(({ scans, tries, tryErrors, item: next }) => ({ scans, tries, tryErrors, item: next?.id })),
      'its agent cannot be invoked': [
        items.afterLostScan(context({ tryErrors: ['once'] }), {
          outcome: {
            ok: false,
            unavailable: { agent: 'scan', slugs: [], message: 'twice', requests: 0, lookedFor: ['agents/'] },
          },
          at: 5,
          chance: 0.5,
        }),
        items.afterLostScan(context(), { outcome: refused, at: 5, chance: 0.5 }),
        items.afterLostScan(context(), { outcome: scan, at: 5, chance: 0.5 }),
      ],
      'it waits': items.waitInput(context({ scans: 2, tries: 1, work: work({ verdict: 'unavailable' }) })),
      'tried again': [1, 2, 3, 4].map((tries) => {
        const one = context({ tries, work: work({ verdict: 'unavailable' }) });
        return [items.triesRemain(one), items.subAgentUnavailable(one), items.nextTryAt(one)];
      }),
      'not unavailable': [
        items.triesRemain(context({ work: work({}) })),
        items.subAgentUnavailable(context({ tries: 3, work: work({}) })),
      ],
      tested: [
        items.isToBeTested(context({ work: work({}) })),
        items.isToBeTested(context({ phase: 'testing', work: work({}) })),
        items.isToBeTested(context({ tests: false, work: work({}) })),
      ],
    });
  });
});
