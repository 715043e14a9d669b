import { describe, it } from 'vitest';
import type { Incident, InterruptedItem } from '../../../machines/index.ts';
import * as ending from '../../../machines/workflow/ending.rules.ts';
import * as run from '../../../machines/workflow/workflow.rules.ts';
import { item, worked } from '../../graph/levels/item.ts';
import { diedIn } from '../../graph/levels/workflow.ts';
import { expectGolden } from '../../support/golden.ts';
import { context, failure, incidents, limits, stop } from '../../support/incidents.ts';

describe('W-1 W-3 W-4: the end of a run and its recovery', () => {
  it('match the golden file', () => {
    const busy = context({
      inProgress: [{ item: item(3), iteration: 4, end: null }],
      iteration: 4,
      failureCount: 2,
      lastFailures: ['BUG-001', 'BUG-002'],
      failures: [failure(1), failure(2)],
      succeeded: ['BUG-007'],
      setAside: ['BUG-008'],
      tried: ['BUG-001'],
      created: [{ id: 'BUG-009', title: 'T', folder: 'f', isNew: true, why: 'w' }],
      problems: ['one'],
    });
    const over = { ...busy, incidents: [incidents.crash, incidents.failures, incidents.stop] as Incident[] };
    const lostAgent = {
      item: 'BUG-003',
      agent: 'worker',
      tries: 3,
      lookedFor: ['agents/'],
      errors: ['one', 'two', 'three'],
    };
    const settled = {
      item: item(4),
      iteration: 5,
      end: { iteration: 5, phase: 'testing' as const, outcome: worked({}), tries: 1, tryErrors: [], changed: ['a.ts'] },
    };
    const blocked = { ...settled, end: { ...settled.end, outcome: worked({ verdict: 'blocked' }) } };
    const outcome = {
      created: [
        { id: 'BUG-009', title: 'again', folder: 'f', isNew: false, why: 'w' },
        { id: 'BUG-010', title: 'N', folder: 'g', isNew: true, why: 'v' },
      ],
      priorities: [{ id: 'BUG-001', from: 'P2' as const, to: 'P0' as const, reason: 'it recurs' }],
      problems: ['two'],
    };
    const one: InterruptedItem = { id: 'BUG-001', phase: 'processing', item: item(1), end: 'interrupted' };
    const crashed = (phase: Parameters<typeof diedIn>[0], ...items: InterruptedItem[]) =>
      run.afterCrash(context(), {
        outcome: {
          kind: 'crashed',
          state: diedIn(phase, {
            failure_count: 1,
            last_failures: ['BUG-008'],
            failures: [failure(8)],
            incidents: [incidents.stop as Incident],
          }),
          items,
          problem: null,
        },
      });
    return expectGolden('run.txt', {
      fresh: run.freshRun({ run: 'now', limits, tests: false }),
      state: run.runState(busy, 'processing'),
      'state of several': run.runState({ ...busy, inProgress: [...busy.inProgress, settled, blocked] }, 'scanning')
        .in_progress,
      'state while it is settled': run.runState(
        { ...busy, inProgress: [settled], taken: busy.inProgress },
        'archiving',
      ),
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
      'died in processing': crashed('processing', one),
      'died in testing, and the item is gone': crashed('testing', { ...one, phase: 'testing', item: null }).facts,
      'died in setting aside': crashed('settingAside', { ...one, phase: 'settingAside' }).facts,
      'died in archiving': crashed('archiving', { ...one, phase: 'archiving', end: 'archived' }),
      'died in archiving, for good': run.afterCrash(context(), {
        outcome: { kind: 'crashed', state: diedIn('archiving'), items: [], problem: 'no access' },
      }),
      'died with several in progress': crashed(
        'processing',
        one,
        { ...one, id: 'BUG-002', item: item(2), phase: 'archiving', end: 'archived' },
        { ...one, id: 'BUG-003', item: item(3), phase: 'testing' },
        { ...one, id: 'BUG-004', item: item(4), phase: 'archiving', end: 'conflict', message: 'lines.txt' },
      ),
      'died in capturing': crashed('capturing').facts,
      'died at the very end': crashed('completed').change.incidents,
      'died after an early exit': crashed('exitedEarly').change.incidents,
      guards: [
        run.exitsEarly(busy),
        run.exitsEarly({ ...busy, abortReason: 'enough' }),
        run.exitsEarly(over),
        ending.isDraining(busy),
        ending.isDraining(over),
        ending.isDraining({ ...over, inProgress: [] }),
        ending.incidentsRemain(over),
        ending.incidentsRemain({ ...over, captured: 3 }),
      ],
      'nothing new': ending.incidentsNoted(busy),
      'everything at once': ending.incidentsNoted({
        ...busy,
        failureCount: 3,
        failures: [failure(0), failure(1), failure(2), failure(3)],
        lastFailures: ['BUG-001', 'BUG-002', 'BUG-003'],
        stops: [stop],
        critical: { phase: 'processing', item: 'BUG-003', message: 'disk' },
        lostAgent,
      }),
      'failures while the run ends': ending.incidentsNoted({ ...over, failureCount: 4 }).facts,
      'what is noted is not new': ending.incidentsNoted({
        ...busy,
        stops: [stop],
        incidents: [incidents.stop as Incident],
      }),
      'critical between items': ending.incidentsNoted(
        context({ critical: { phase: 'scanning', item: null, message: 'no' } }),
      ),
      'the phase of a capture': ending.captureInput(over).request.state.current_phase,
      'critical errors': [
        run.critical(busy, 'scanning', 'no'),
        run.critical(busy, 'archiving', 'no'),
        run.critical(context(), 'processing', 'no'),
      ],
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
