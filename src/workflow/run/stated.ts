import type { WorkOutcome } from '../../../machines/index.ts';
import { defineAgent } from '../../agent/define-agent.ts';
import type { Agent } from '../../agent/definition.ts';
import { shown } from '../../input/errors.ts';
import { isRecord, jsonIn } from '../../platform/plain-json.ts';
import type { ReportDefinition } from '../../report/registry.ts';

/** What the agents of a run state, as data: prose is never judged (W-1). */

type Schema = NonNullable<ReportDefinition['schema']>;

const verdicts = ['succeeded', 'failed', 'blocked'] as const;

/** What an agent's report says of its work. */
export type Verdict = Pick<WorkOutcome, 'message'> & { verdict: (typeof verdicts)[number] };

const text = (description: string) => ({ type: 'string' as const, minLength: 1, description });

/** What agents that bring no report of their own are asked for, by their role. */
export const schemas = {
  verdict: {
    type: 'object',
    properties: {
      status: { enum: [...verdicts], description: 'blocked: a person has to do something first' },
      message: text('what was done; or why not, or what a person has to do'),
    },
    required: ['status', 'message'],
  },
  order: {
    type: 'object',
    properties: {
      order: { type: 'array', items: text('an id'), description: 'the ids, in the order to work on them' },
    },
    required: ['order'],
  },
  findings: {
    type: 'object',
    properties: {
      text: text('what you found, in words'),
      priorities: {
        type: 'array',
        description: 'open items that should have another priority',
        items: {
          type: 'object',
          properties: {
            id: text('the id of the item'),
            priority: { enum: ['P0', 'P1', 'P2', 'P3'] },
            reason: { type: 'string' },
          },
          required: ['id', 'priority'],
        },
      },
    },
    required: ['text'],
  },
} satisfies Record<string, Schema>;

const asked = new WeakMap<Schema, WeakMap<Agent, Agent>>();

/** Returns the agent with a report of this schema, unless it brings a `report`, a `checkReport` or `finish: 'text'`. */
export function stating(agent: Agent, schema: Schema): Agent {
  const { definition } = agent;
  const { report, finish, checkReport } = definition;
  if (report !== undefined || finish === 'text' || checkReport !== undefined) return agent;
  const agents = asked.get(schema) ?? new WeakMap<Agent, Agent>();
  const known = agents.get(agent) ?? defineAgent({ ...definition, report: { format: 'json', schema } });
  asked.set(schema, agents.set(agent, known));
  return known;
}

/** Returns a report that is an object, or the object in a report that is JSON text; null otherwise. */
export function statedIn(content: unknown): Record<string, unknown> | null {
  return asObject(typeof content === 'string' ? jsonIn(content) : content);
}

/** Reads the verdict of a report: its `status`, or its `success`. What states neither is a failure (W-1). */
export function verdictIn(content: unknown): Verdict {
  const whole = typeof content === 'string' ? content.trim() : shown(content);
  const { status, success, message, reason, summary } = statedIn(content) ?? {};
  const said = [message, reason, summary].find((one) => typeof one === 'string' && one.trim() !== '');
  const verdict = status === undefined ? bySuccess(success) : verdicts.find((one) => one === status);
  if (verdict === undefined) return { verdict: 'failed', message: `The report states no verdict: ${whole}` };
  if (verdict === 'succeeded' && success === false)
    return { verdict: 'failed', message: `The report states two verdicts: ${whole}` };
  return { verdict, message: typeof said === 'string' ? said : whole };
}

function bySuccess(success: unknown): 'succeeded' | 'failed' | undefined {
  if (typeof success !== 'boolean') return undefined;
  return success ? 'succeeded' : 'failed';
}

export function asObject(value: unknown): Record<string, unknown> | null {
  return isRecord(value) ? { ...value } : null;
}
