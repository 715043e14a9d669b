import type { AnyMachineSnapshot, EventObject } from 'xstate';
import {
  type ItemRef,
  type RunState,
  type StopMarker,
  type WorkflowLimits,
  type WorkOutcome,
  workflowMachine,
} from '../../../machines/index.ts';
import type { Walk } from '../explore.ts';
import { broke, delivered, done } from './shared.ts';

export const item = (number: number, over: Partial<ItemRef> = {}): ItemRef => ({
  id: `BUG-00${number}`,
  kind: 'bug',
  title: `Bug ${number}`,
  priority: 'P1',
  component: null,
  createdAt: null,
  blocked: false,
  folder: `bugs/BUG-00${number}`,
  ...over,
});

const marker: StopMarker = { file: 'comments.md', item: null, request: 'Build it.', component: null };

export const worked = (over: Partial<WorkOutcome>): WorkOutcome => ({
  verdict: 'succeeded',
  agent: 'worker',
  slugs: [],
  message: 'so it went',
  requests: 1,
  lookedFor: [],
  stops: [],
  changed: [],
  ...over,
});

export const diedIn = (phase: RunState['current_phase'], over: Partial<RunState> = {}): RunState => ({
  run: 'before',
  current_phase: phase,
  current_item: 'BUG-001',
  iteration_count: 1,
  failure_count: 0,
  last_failures: [],
  early_exit_triggered: false,
  early_exit_reason: null,
  succeeded: [],
  set_aside: [],
  tried: ['BUG-001'],
  failures: [],
  incidents: [],
  created: [],
  changed: [],
  ...over,
});

export function workflowWalk(over: Partial<WorkflowLimits> = {}, tests = true): Walk {
  const limits: WorkflowLimits = { maxConsecutiveFailures: 2, maxItems: null, maxAgentTries: 2, ...over };
  const leave = { type: 'workflow.abort', reason: 'enough' };
  const failures = limits.maxConsecutiveFailures - 1;
  const known = { id: 'BUG-009', title: 'T', folder: 'bugs/BUG-009', isNew: true, why: 'because' };
  const filed = [delivered({ ok: true, created: [] }), delivered({ ok: true, created: [known] })];
  const unfiled = delivered({ ok: false, message: 'disk full' });
  const change = { id: 'BUG-001', from: 'P2', to: 'P0', reason: 'it recurs' };
  const ended = [
    delivered({ created: [known], priorities: [change], problems: [] }),
    delivered({ created: [], priorities: [], problems: ['disk full'] }),
  ];
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    const all = (actor: string, outcomes: readonly unknown[]) => [
      ...outcomes.map((outcome) => done(actor, outcome)),
      broke(actor),
      leave,
    ];
    switch (snapshot.value) {
      case 'restoring':
        return all('restore', [
          delivered({ kind: 'fresh' }),
          delivered({ kind: 'crashed', state: diedIn('processing'), item: item(1), problem: null }),
          delivered({
            kind: 'crashed',
            state: diedIn('archiving', { failure_count: failures }),
            item: null,
            problem: null,
          }),
          delivered({ kind: 'crashed', state: diedIn('archiving'), item: null, problem: 'no access' }),
          delivered({
            kind: 'crashed',
            state: diedIn('testing', { failure_count: failures }),
            item: item(1),
            problem: null,
          }),
          delivered({ kind: 'corrupt', message: 'not JSON' }),
          delivered({ kind: 'critical', message: 'no access' }),
        ]);
      case 'scanning':
        return all('scan', [
          delivered({ ok: true, items: [item(1), item(2)], stops: [], appeared: [], spent: null }),
          delivered({ ok: true, items: [item(9), item(1)], stops: [], appeared: [known], spent: null }),
          delivered({
            ok: true,
            items: [item(1, { blocked: true }), item(3, { kind: 'human-action' })],
            stops: [],
            appeared: [],
            spent: null,
          }),
          delivered({ ok: true, items: [item(1)], stops: [marker], appeared: [], spent: null }),
          delivered({ ok: true, items: [item(1)], stops: [], appeared: [], spent: '10 requests' }),
          delivered({ ok: false, message: 'no access' }),
          delivered({
            ok: false,
            unavailable: { agent: 'scan', slugs: [], message: 'not there', requests: 0, lookedFor: ['agents/'] },
          }),
        ]);
      case 'working':
        return all('work', [
          delivered(worked({})),
          delivered(worked({ stops: [marker] })),
          delivered(worked({ verdict: 'failed', slugs: ['retries_exhausted'] })),
          delivered(worked({ verdict: 'failed', slugs: ['retries_exhausted'], stops: [marker] })),
          delivered(worked({ verdict: 'blocked' })),
          delivered(worked({ verdict: 'unavailable', lookedFor: ['agents/'] })),
          delivered(worked({ verdict: 'unstarted' })),
          delivered(worked({ verdict: 'critical' })),
          delivered(worked({ verdict: 'aborted' })),
        ]);
      case 'backingOff':
        return all('wait', [delivered({})]);
      case 'archiving':
        return all('archive', [...filed, unfiled]);
      case 'settingAside':
        return all('setAside', [...filed, unfiled]);
      case 'capturing':
        return all('capture', ended);
      case 'reviewing':
        return all('review', ended);
      case 'summarising':
        return all('summarise', ended);
      default:
        return [];
    }
  };
  return { machine: workflowMachine, input: { run: 'now', limits, tests }, events };
}

/** Identifies a run state by the fields that its rules read. Whole contexts would give too many states. */
export const workflowKey = ({ value, status, context }: AnyMachineSnapshot) =>
  JSON.stringify([
    value,
    status,
    context.item.id,
    context.tries,
    context.tried,
    context.failureCount,
    context.stops.length,
    context.phase,
    context.work.outcome.verdict,
    context.critical?.phase,
    context.incidents.map(({ kind }: { kind: string }) => kind),
    context.captured,
    context.abortReason,
  ]);
