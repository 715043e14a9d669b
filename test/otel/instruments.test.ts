import type { Attributes, Meter } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { Instruments } from '../../src/otel/instruments.ts';

/** A meter that keeps what its instruments are, and what they are given. */
function metered() {
  const kinds: Record<string, object> = {};
  const given: [string, number, Attributes | undefined][] = [];
  const make = (kind: string) => (name: string, options: object) => {
    kinds[name] = { kind, ...options };
    const take = (value: number, about?: Attributes) => void given.push([name, value, about]);
    return { add: take, record: take };
  };
  const meter = { createHistogram: make('histogram'), createCounter: make('counter') } as unknown as Meter;
  return { instruments: new Instruments(meter), kinds, given };
}

const agent = { 'gen_ai.agent.name': 'a' };
const event = (type: string, more: object) => ({ type, ...more }) as never;

describe('the metrics of sessions', () => {
  it('they have the units and boundaries of the conventions', () => {
    const { kinds } = metered();
    const seconds = { advice: { explicitBucketBoundaries: expect.arrayContaining([0.01, 81.92]) } };
    expect(kinds).toEqual({
      'gen_ai.client.operation.duration': {
        ...{ kind: 'histogram', unit: 's', description: 'Duration of an operation.' },
        ...seconds,
      },
      'gen_ai.client.token.usage': {
        ...{ kind: 'histogram', unit: '{token}', description: 'Tokens of a request.' },
        advice: { explicitBucketBoundaries: expect.arrayContaining([1, 67_108_864]) },
      },
      'gen_ai.client.operation.time_to_first_chunk': {
        ...{ kind: 'histogram', unit: 's', description: 'Time to the first piece of a reply.' },
        ...seconds,
      },
      'gen_ai.client.operation.time_per_output_chunk': {
        ...{ kind: 'histogram', unit: 's', description: 'Time from one piece of a reply to the next.' },
        ...seconds,
      },
      'gen_ai.invoke_agent.duration': {
        ...{ kind: 'histogram', unit: 's', description: 'Duration of invoke_agent.' },
        ...seconds,
      },
      'gen_ai.execute_tool.duration': {
        ...{ kind: 'histogram', unit: 's', description: 'Duration of execute_tool.' },
        ...seconds,
      },
      'pawl.sessions': { kind: 'counter', description: 'Sessions that ended, by status.' },
      'pawl.requests': { kind: 'counter', description: 'LLM requests.' },
      'pawl.cost': { kind: 'counter', unit: 'USD', description: 'Cost of the requests that have a price.' },
      'pawl.slugs': { kind: 'counter', description: 'Reasons of failed attempts and sessions.' },
      'pawl.collapses': { kind: 'counter', description: 'Collapses, by reason.' },
      'pawl.answers': { kind: 'counter', description: 'Answered tool calls, by tool and reason.' },
    });
  });

  it('collapses, slugs and answers are counted by their reasons', () => {
    const { instruments, given } = metered();
    const answered = (more: object) => event('tool.answered', { callId: 'c', name: 'look', slug: null, ...more });
    for (const one of [
      event('session.collapsed', { reason: 'final_report_rejected' }),
      event('attempt.failed', { slugs: ['empty_response', 'interrupted'] }),
      event('session.failed', { failure: { slugs: ['retries_exhausted'] } }),
      event('session.aborted', { failure: { slugs: ['aborted'] } }),
      event('session.succeeded', {}),
      answered({ executed: true }),
      answered({ executed: false }),
      answered({ executed: true, slug: 'tool_timeout' }),
      answered({ executed: false, callId: 'invented', name: 'lok', slug: 'unknown_tool' }),
    ])
      instruments.count(one, agent, new Set(['invented']));
    const reason = (name: string, why: string) => [
      'pawl.answers',
      1,
      { ...agent, 'gen_ai.tool.name': name, 'pawl.reason': why },
    ];
    expect(given).toEqual([
      ['pawl.collapses', 1, { ...agent, 'pawl.reason': 'final_report_rejected' }],
      ...['empty_response', 'interrupted', 'retries_exhausted', 'aborted'].map((slug) => [
        'pawl.slugs',
        1,
        { ...agent, 'pawl.slug': slug },
      ]),
      reason('look', 'executed'),
      reason('look', 'acknowledged'),
      reason('look', 'tool_timeout'),
      reason('unknown', 'unknown_tool'),
    ]);
  });

  it('times are in seconds, and no duration is negative when a clock is set back', () => {
    const { instruments, given } = metered();
    instruments.ended({ name: agent, startedAt: 1_000, endedAt: 3_500, slug: null });
    instruments.ended({ name: agent, startedAt: 3_000, endedAt: 1_000, slug: 'aborted' });
    const usage = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
    const replied = (more: object) => ({ usage, costUsd: null, ...more }) as never;
    instruments.replied(replied({}), 250, agent);
    expect(given).toEqual([
      ['gen_ai.client.operation.duration', 2.5, agent],
      ['gen_ai.client.operation.duration', 0, { ...agent, 'error.type': 'aborted' }],
      ['gen_ai.client.operation.time_to_first_chunk', 0.25, agent],
    ]);
  });

  it('what a request did not use, cost or show is not recorded', () => {
    const { instruments, given } = metered();
    const usage = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
    for (const costUsd of [null, 0]) instruments.replied({ usage, costUsd } as never, null, agent);
    expect(given).toEqual([]);
    instruments.replied({ usage: { ...usage, input: 1 }, costUsd: 0.5 } as never, null, agent);
    instruments.replied({ usage: { ...usage, output: 1 }, costUsd: null } as never, null, agent);
    instruments.requested(agent);
    instruments.sessionEnded('failed', agent);
    expect(given).toEqual([
      ['gen_ai.client.token.usage', 1, { ...agent, 'gen_ai.token.type': 'input' }],
      ['pawl.cost', 0.5, agent],
      ['gen_ai.client.token.usage', 1, { ...agent, 'gen_ai.token.type': 'output' }],
      ['pawl.requests', 1, agent],
      ['pawl.sessions', 1, { ...agent, 'pawl.status': 'failed' }],
    ]);
  });
});
