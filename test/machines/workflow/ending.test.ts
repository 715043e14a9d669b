import { describe, it } from 'vitest';
import type { Incident } from '../../../machines/index.ts';
import * as ending from '../../../machines/workflow/ending.rules.ts';
import * as run from '../../../machines/workflow/workflow.rules.ts';
import { diedIn, item, worked } from '../../graph/levels/workflow.ts';
import { expectGolden } from '../../support/golden.ts';
import { context, failure, incidents, limits, stop } from '../../support/incidents.ts';

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
      priorities: [{ id: 'BUG-001', from: 'P2' as const, to: 'P0' as const, reason: 'it recurs' }],
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
        tryErrors: ['one', 'two', 'three'],
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
