import type { Incident, ItemFailure } from '../../machines/index.ts';
import * as run from '../../machines/workflow/workflow.rules.ts';
import type { WorkflowContext } from '../../machines/workflow/workflow.types.ts';

export const limits = { maxConsecutiveFailures: 3, maxItems: null, maxAgentTries: 3, concurrency: 1 };
export const context = (over: Partial<WorkflowContext> = {}): WorkflowContext => ({
  ...run.freshRun({ run: 'now', limits, tests: true }),
  ...over,
});
export const failure = (number: number, over: Partial<ItemFailure> = {}): ItemFailure => ({
  id: `BUG-00${number}`,
  folder: `bugs/BUG-00${number}`,
  component: 'core',
  phase: 'processing',
  slugs: ['text_only'],
  message: `no ${number}\nand more`,
  requests: 2,
  ...over,
});
export const stop = { file: 'comments.md', item: null, request: 'Build it.\nSoon.', component: null };
export const incidents: Record<string, Incident> = {
  failures: {
    kind: 'consecutive_failures',
    count: 3,
    failures: [failure(1), failure(2, { slugs: [], message: ' ' }), failure(3, { component: null, phase: 'testing' })],
  },
  'no failure': { kind: 'consecutive_failures', count: 0, failures: [] },
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
  'the scan agent is unavailable': {
    kind: 'agent_unavailable',
    agent: 'scan',
    item: null,
    tries: 2,
    lookedFor: [],
    errors: ['not there', ''],
  },
  'critical error between items': { kind: 'critical_error', phase: 'scanning', item: null, message: '' },
  unavailable: {
    kind: 'agent_unavailable',
    agent: 'worker',
    item: 'BUG-001',
    tries: 3,
    lookedFor: ['agents/'],
    errors: ['not there', 'not there', 'still not there'],
  },
  crash: { kind: 'crash', phase: 'testing', item: 'BUG-001' },
  'crash between items': { kind: 'crash', phase: 'scanning', item: null },
  'as long as a line may be': {
    kind: 'critical_error',
    phase: 'scanning',
    item: null,
    message: ` ${'y'.repeat(120)} `,
  },
  'two reasons': {
    kind: 'consecutive_failures',
    count: 1,
    failures: [failure(1, { slugs: ['text_only', 'empty_response'] })],
  },
  long: { kind: 'critical_error', phase: 'scanning', item: null, message: 'x'.repeat(200) },
};
