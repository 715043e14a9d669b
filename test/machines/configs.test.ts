import { expect, it } from 'vitest';
import { attemptMachine, sessionMachine, toolCallMachine, turnMachine, workflowMachine } from '../../machines/index.ts';
import { expectGolden } from '../support/golden.ts';

/** States, events, targets, names, rules and descriptions: all of a configuration but its functions. */
it('the configurations of the machines are these', async () => {
  const machines = [sessionMachine, turnMachine, attemptMachine, toolCallMachine, workflowMachine];
  const configs = machines.map(({ id, config }) => [id, config] as const);
  expect(configs.map(([id]) => id)).toEqual(['session', 'turn', 'attempt', 'toolCall', 'workflow']);
  await expectGolden('configs.txt', Object.fromEntries(configs));
});
