import type { WorkflowFact } from '../../../machines/index.ts';
import type { Logger } from '../../observe/log/logger.ts';

/** Logs a fact for the operator: failed items and problems at level WARN, an early exit at level ERROR. */
export function logFact(logger: Logger, run: string, fact: WorkflowFact): void {
  switch (fact.type) {
    case 'item.failed': {
      const { id, phase, slugs, message } = fact.failure;
      logger.warn(
        { event: fact.type, run, item: id, phase, slugs: [...slugs], message, failureCount: fact.failureCount },
        `${id} failed in ${phase}${slugs.length === 0 ? '' : `: ${slugs.join(', ')}`}`,
      );
      return;
    }
    case 'agent.unavailable': {
      const { item, agent, tries, message } = fact;
      logger.warn({ event: fact.type, run, item, agent, tries, message }, `${agent} could not be invoked: ${message}`);
      return;
    }
    case 'problem.noted':
      logger.warn({ event: fact.type, run, phase: fact.phase, message: fact.message }, fact.message.split('\n')[0]);
      return;
    case 'workItem.created':
      logger.info({ event: fact.type, run, ...fact.item }, `${fact.item.id}: ${fact.item.title}`);
      return;
    case 'budget.spent':
      logger.warn({ event: fact.type, run, limit: fact.limit }, `the budget of the run is spent: ${fact.limit}`);
      return;
    case 'priority.changed': {
      const { id, from, to } = fact.change;
      logger.info({ event: fact.type, run, ...fact.change }, `${id}: ${to} instead of ${from}`);
      return;
    }
    case 'workflow.exitedEarly':
      logger.error({ event: fact.type, run, reason: fact.reason }, `the run exited early: ${fact.reason}`);
      return;
    default:
  }
}
