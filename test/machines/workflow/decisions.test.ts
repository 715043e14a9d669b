import { describe, expect, it } from 'vitest';
import type { Incident, ItemFailure } from '../../../machines/index.ts';
import * as ending from '../../../machines/workflow/ending.rules.ts';
import { blockedDraft, draftOf, endsRun, fingerprintOf, reasonOf } from '../../../machines/workflow/incident.rules.ts';
import * as items from '../../../machines/workflow/item.rules.ts';
import * as run from '../../../machines/workflow/workflow.rules.ts';
import type { WorkflowContext } from '../../../machines/workflow/workflow.types.ts';
import { diedIn, item, worked } from '../../graph/levels/workflow.ts';
import { expectGolden } from '../../support/golden.ts';

const limits = { maxConsecutiveFailures: 3, maxItems: null, maxAgentTries: 3 };
const context = (over: Partial<WorkflowContext> = {}): WorkflowContext => ({
  ...run.freshRun({ run: 'now', limits, tests: true }),
  ...over,
});
const failure = (number: number, over: Partial<ItemFailure> = {}): ItemFailure => ({
  id: `BUG-00${number}`,
  folder: `bugs/BUG-00${number}`,
  component: 'core',
  phase: 'processing',
  slugs: ['text_only'],
  message: `no ${number}\nand more`,
  requests: 2,
  ...over,
});
const stop = { file: 'comments.md', item: null, request: 'Build it.\nSoon.', component: null };
const incidents: Record<string, Incident> = {
  failures: {
    kind: 'consecutive_failures',
    failures: [failure(1), failure(2, { slugs: [], message: ' ' }), failure(3, { component: null, phase: 'testing' })],
  },
  'no failure': { kind: 'consecutive_failures', failures: [] },
  stop: { kind: 'stop', stop },
  'stop of an item': {
    kind: 'stop',
    stop: { ...stop, file: 'bugs/BUG-001/comments.md', item: 'BUG-001', component: 'export' },
  },
  'stop without a request': { kind: 'stop', stop: { ...stop, request: '' } },
  'critical error': {
    kind: 'critical_error',
    phase: 'archiving',
    item: 'BUG-001',
    message: 'ENOSPC: no space, pid 4711\nat x',
  },
  'critical error between items': { kind: 'critical_error', phase: 'scanning', item: null, message: '' },
  unavailable: {
    kind: 'agent_unavailable',
    agent: 'worker',
    item: 'BUG-001',
    tries: 3,
    lookedFor: ['agents/'],
    message: 'not there',
  },
  crash: { kind: 'crash', phase: 'testing', item: 'BUG-001' },
  'crash between items': { kind: 'crash', phase: 'scanning', item: null },
  'as long as a line may be': {
    kind: 'critical_error',
    phase: 'scanning',
    item: null,
    message: ` ${'y'.repeat(120)} `,
  },
  'two reasons': { kind: 'consecutive_failures', failures: [failure(1, { slugs: ['text_only', 'empty_response'] })] },
  long: { kind: 'critical_error', phase: 'scanning', item: null, message: 'x'.repeat(200) },
};

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
    const scan = { ok: true as const, items: all, stops: [stop], appeared: [] };
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
      ],
      'after a scan': [
        items.afterScan(context(), { outcome: { ...scan, appeared: [known] } }),
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

describe('W-1 W-3 W-4: the end of a run and its recovery', () => {
  it('match the golden file', () => {
    const busy = context({
      item: item(3),
      iteration: 4,
      failureCount: 2,
      failures: [failure(1), failure(2)],
      succeeded: ['BUG-007'],
      setAside: ['BUG-008'],
      tried: ['BUG-001'],
      created: [{ id: 'BUG-009', title: 'T', folder: 'f', isNew: true, why: 'w' }],
      problems: ['one'],
    });
    const over = { ...busy, incidents: [incidents.crash, incidents.failures, incidents.stop] as Incident[] };
    const unavailable = {
      outcome: worked({ verdict: 'unavailable', lookedFor: ['agents/'] }),
      at: 0,
      chance: 0,
    };
    const outcome = {
      created: [
        { id: 'BUG-009', title: 'again', folder: 'f', isNew: false, why: 'w' },
        { id: 'BUG-010', title: 'N', folder: 'g', isNew: true, why: 'v' },
      ],
      problems: ['two'],
    };
    const crashed = (phase: Parameters<typeof diedIn>[0], there = true) =>
      run.afterCrash(context(), {
        outcome: {
          kind: 'crashed',
          state: diedIn(phase, { failure_count: 1, incidents: [incidents.stop as Incident] }),
          item: there ? item(1) : null,
          problem: null,
        },
      });
    return expectGolden('run.txt', {
      fresh: run.freshRun({ run: 'now', limits, tests: false }),
      state: run.runState(busy, 'processing'),
      'state of nothing': run.runState(context(), 'scanning').current_item,
      'state once it is over': [
        run.runState(over, 'capturing').early_exit_triggered,
        run.runState(over, 'capturing').early_exit_reason,
      ],
      'a crash does not end it': [
        run.runIsOver(context({ incidents: [incidents.crash as Incident] })),
        run.exitsEarly(context({ incidents: [incidents.crash as Incident] })),
      ],
      reasons: [run.exitReason(over), run.exitReason({ ...over, abortReason: 'enough' }), run.exitReason(context())],
      'died in processing': crashed('processing'),
      'died in testing, and the item is gone': crashed('testing', false).facts,
      'died in setting aside': crashed('settingAside').facts,
      'died in archiving': crashed('archiving'),
      'died in archiving, for good': run.afterCrash(context(), {
        outcome: { kind: 'crashed', state: diedIn('archiving'), item: null, problem: 'no access' },
      }),
      'died in capturing': crashed('capturing').facts,
      'died at the very end': crashed('completed').change.incidents,
      'died after an early exit': crashed('exitedEarly').change.incidents,
      guards: [
        ending.consecutiveFailuresReached(busy),
        ending.consecutiveFailuresReached({ ...busy, failureCount: 3 }),
        ending.stopRequested(busy),
        ending.stopRequested({ ...busy, stops: [stop] }),
        ending.criticalErrorRaised(busy),
        ending.criticalErrorRaised({ ...busy, critical: { phase: 'scanning', message: 'no' } }),
        run.exitsEarly(busy),
        run.exitsEarly({ ...busy, abortReason: 'enough' }),
        run.exitsEarly(over),
      ],
      'nothing new': ending.incidentsNoted(busy),
      'everything at once': ending.incidentsNoted({
        ...busy,
        failureCount: 3,
        failures: [failure(0), failure(1), failure(2), failure(3)],
        stops: [stop],
        critical: { phase: 'processing', message: 'disk' },
        tries: 3,
        work: unavailable,
      }),
      'what is noted is not new': ending.incidentsNoted({
        ...busy,
        stops: [stop],
        incidents: [incidents.stop as Incident],
      }),
      'critical between items': ending.incidentsNoted(context({ critical: { phase: 'scanning', message: 'no' } })),
      'the phase of a capture': ending.captureInput(over).request.state.current_phase,
      'died in testing': crashed('testing').facts,
      'died in archiving nothing': run.afterCrash(context(), {
        outcome: { kind: 'crashed', state: diedIn('archiving', { current_item: null }), item: null, problem: null },
      }).facts,
      capture: ending
        .captureInput({ ...over, captured: 1, captures: 2 })
        .request.captures.map(({ fingerprint }) => fingerprint),
      'its key': ending.captureInput({ ...over, captures: 2 }).key,
      review: ending.reviewInput(busy),
      summarise: ending.summariseInput(busy),
      'after a capture': ending.afterCapture(over, { outcome }),
      'after the ending': run.afterEnding(busy, { phase: 'reviewing', outcome }),
      'after a lost ending': ending.lostEnding(new Error('oops')),
      'the fact of the end': [
        ending.endFact(busy),
        ending.endFact(over),
        ending.endFact({ ...busy, abortReason: 'enough' }),
      ],
      output: [ending.outputOf(busy), ending.outputOf(over).status],
      refusals: [run.refusalOf({ ok: false, message: 'no' }), run.refusalOf({ kind: 'fresh' })],
    });
  });
});
