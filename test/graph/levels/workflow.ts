import type { AnyMachineSnapshot, EventObject } from 'xstate';
import {
  type InterruptedItem,
  type RunState,
  type TakenItem,
  type WorkflowContext,
  type WorkflowLimits,
  workflowMachine,
} from '../../../machines/index.ts';
import type { Walk } from '../explore.ts';
import { item, itemOutputs, marker } from './item.ts';
import { broke, delivered, done } from './shared.ts';

export const diedIn = (phase: RunState['current_phase'], over: Partial<RunState> = {}): RunState => ({
  run: 'before',
  current_phase: phase,
  current_item: 'BUG-001',
  iteration_count: 1,
  failure_count: 0,
  last_failures: [],
  early_exit_triggered: false,
  early_exit_reason: null,
  in_progress: [],
  concurrency: 1,
  succeeded: [],
  set_aside: [],
  tried: ['BUG-001'],
  failures: [],
  incidents: [],
  created: [],
  changed: [],
  ...over,
});

const lately = (failures: number): Partial<RunState> => ({
  failure_count: failures,
  last_failures: Array.from({ length: failures }, (_, index) => `BUG-10${index}`),
});

/** What may become of the items in progress when a process dies. */
const gone: InterruptedItem = { id: 'BUG-002', phase: 'processing', item: null, end: 'interrupted' };
const interrupted: InterruptedItem = { ...gone, id: 'BUG-001', item: item(1) };
const archived: InterruptedItem = { ...interrupted, phase: 'archiving', end: 'archived' };
const conflicting: InterruptedItem = { ...interrupted, phase: 'archiving', end: 'conflict', message: 'lines.txt' };

/** The ways in which the work on an item may end: all of them, or a success and a failure. */
function endsOf({ iteration, end }: TakenItem, all: boolean): EventObject[] {
  if (end !== null) return [];
  const outputs = all ? itemOutputs : itemOutputs.filter((_, index) => index === 0 || index === 2);
  return [
    ...outputs.map((output) => done(`item.${iteration}`, { ...output, iteration })),
    ...(all ? [broke(`item.${iteration}`)] : []),
  ];
}

export function workflowWalk(over: Partial<WorkflowLimits> = {}, tests = true): Walk {
  const limits: WorkflowLimits = {
    maxConsecutiveFailures: 2,
    maxItems: null,
    maxAgentTries: 2,
    concurrency: 1,
    ...over,
  };
  const leave = { type: 'workflow.abort', reason: 'enough' };
  const failures = limits.maxConsecutiveFailures - 1;
  const crashes: [RunState['current_phase'], number, ...InterruptedItem[]][] = [
    ['processing', 0, interrupted],
    ['archiving', failures, archived],
    ['testing', failures, interrupted, gone],
    ['archiving', 0, archived, conflicting],
    ['capturing', 0],
  ];
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
    const { inProgress } = snapshot.context as WorkflowContext;
    const itemEnds = inProgress.flatMap((taken) => endsOf(taken, limits.concurrency === 1));
    switch (snapshot.value) {
      case 'restoring':
        return all('restore', [
          delivered({ kind: 'fresh' }),
          ...crashes.map(([phase, count, ...items]) =>
            delivered({ kind: 'crashed', state: diedIn(phase, lately(count)), items, problem: null }),
          ),
          delivered({ kind: 'crashed', state: diedIn('archiving'), items: [], problem: 'no access' }),
          delivered({ kind: 'corrupt', message: 'not JSON' }),
          delivered({ kind: 'critical', message: 'no access' }),
        ]);
      case 'scanning':
        return [
          ...itemEnds,
          ...all('scan', [
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
          ]),
        ];
      case 'taking':
        return [...all('take', [delivered({ ok: true }), delivered({ ok: false, message: 'no access' })]), ...itemEnds];
      case 'working':
        return [...itemEnds, leave];
      case 'backingOff':
        return [...all('wait', [delivered({})]), ...itemEnds];
      case 'archiving':
        return [...all('archive', [...filed, unfiled, delivered({ ok: false, conflict: 'lines.txt' })]), ...itemEnds];
      case 'settingAside':
        return [...all('setAside', [...filed, unfiled]), ...itemEnds];
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
    context.inProgress.map(({ item: { id }, end }: TakenItem) => [id, end?.outcome.verdict]),
    context.taken.length,
    context.tried,
    context.scanTries.count,
    context.failureCount,
    context.stops.length,
    context.critical?.phase,
    context.lostAgent?.agent,
    context.incidents.map(({ kind }: { kind: string }) => kind),
    context.captured,
    context.abortReason,
  ]);
