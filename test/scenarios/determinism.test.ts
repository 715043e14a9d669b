import { describe, expect, it } from 'vitest';
import type { Delivery, SessionInput } from '../../machines/index.ts';
import { Host } from '../../src/host/host.ts';
import { defineAgent, startSession } from '../../src/index.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { replay } from '../support/replay.ts';
import { keptLog, report } from '../support/session.ts';
import { failing, guarded, search, searchCall } from '../support/tools.ts';

const story = ({ facts, started }: ReturnType<typeof replay>) => JSON.stringify({ facts, started });

const input = (over: Partial<SessionInput> = {}): SessionInput => ({
  bound: { maxTurns: 10, maxRetries: 3 },
  maxToolCalls: 20,
  targets: ['rehearsal:a', 'rehearsal:b'],
  finish: 'report',
  budget: { requests: null, tokens: null, costUsd: null, deadlineAt: null },
  window: { windowTokens: null, reserveTokens: 0 },
  plansTurns: false,
  at: 1_700_000_000_000,
  ...over,
});

async function recorded(): Promise<Delivery[]> {
  const deliveries: Delivery[] = [];
  const script = [
    { throws: Object.assign(new Error('limit'), { statusCode: 429 }) },
    {},
    { calls: [...searchCall.calls, { name: 'failing' }, { name: 'nope' }, { name: 'guarded', input: { path: '/' } }] },
    { text: 'thinking' },
    report(''),
    report(),
  ];
  let next = 0;
  const models = ['a', 'b'].map((modelId) => rehearsalModel(() => script[next++] ?? {}, { modelId }));
  const session = startSession(defineAgent({ name: 'recorded', models, tools: { search, failing, guarded } }), {
    prompt: 'Go.',
    logger: keptLog().logger,
    clock: manualClock(),
    onDelivery: (delivery) => deliveries.push(JSON.parse(JSON.stringify(delivery))),
    onEvent: (event) => {
      if (event.type === 'tool.approvalRequested')
        setImmediate(() => session.approve(event.callId, { approved: true }));
      if (event.type === 'turn.progressed') session.steer('Now report.');
    },
  });
  const { success } = await session.result;
  expect(success).toBe(true);
  return deliveries;
}

describe('determinism', () => {
  it('D-1 D-3: replaying the same deliveries gives the same facts and effects, byte for byte', async () => {
    const deliveries = await recorded();
    expect(deliveries.length).toBeGreaterThan(10);
    const [first, second] = [replay(input(), deliveries), replay(input(), deliveries)];
    expect(first.status).toBe('done');
    expect(story(second)).toBe(story(first));
    expect(first.facts.at(-1)).toMatchObject({ type: 'session.succeeded' });
    expect(first.started).toContain('turn-1/attempt-3/tool-0');
    expect(first.started).toContain('turn-1/attempt-3/approval-3');
  });

  it('D-2: a result for an unknown or settled key is ignored', async () => {
    const deliveries = await recorded();
    const doubled = deliveries.flatMap((delivery): Delivery[] =>
      'key' in delivery ? [delivery, delivery] : [delivery],
    );
    const unknown: Delivery = { key: 'turn-9/attempt-9/model', at: 1, chance: 0, outcome: {} };
    expect(story(replay(input(), [unknown, ...doubled]))).toBe(story(replay(input(), deliveries)));
  });

  it('D-2: requesting a key twice is a defect in the second leaf', () => {
    const host = new Host();
    const heard: string[] = [];
    const leaf = { send: (event: { type: string }) => void heard.push(event.type) };
    const effect = { kind: 'wait', key: 'turn-1/attempt-2/wait', request: { dueAt: 1, kind: 'backoff' } } as const;
    host.request(effect, leaf);
    host.request(effect, leaf);
    expect(heard).toEqual(['effect.broke']);
    expect(host.drain().start).toEqual([effect]);
  });

  it('D-5 P-1: a defect in an effect fails the attempt and still consumes it', () => {
    const prepared: Delivery = {
      key: 'prepare',
      at: 1,
      chance: 0,
      outcome: { ok: true, instructions: null, messages: null, tokens: 0, results: [], unavailable: [] },
    };
    const broken = [1, 2, 3].map(
      (attempt): Delivery => ({ key: `turn-1/attempt-${attempt}/model`, at: 2, defect: 'oops' }),
    );
    const close: Delivery = { key: 'close', at: 3, chance: 0, outcome: {} };
    const { facts, status } = replay(input(), [prepared, ...broken, close]);
    expect(status).toBe('done');
    expect(facts.filter((fact) => fact.type === 'attempt.failed').map((fact) => fact.slugs)).toEqual(
      Array(3).fill(['internal_error']),
    );
    expect(facts.at(-1)).toMatchObject({
      type: 'session.failed',
      failure: { slugs: ['retries_exhausted', 'internal_error'] },
    });
  });

  it('D-6: contexts stay small and plain JSON, no matter how large the replies and results are', async () => {
    const deliveries = await recorded();
    const large = 'x'.repeat(1_000_000);
    const inflated = deliveries.map((delivery): Delivery => {
      const text = JSON.stringify(delivery).replaceAll('found x', large).replaceAll('thinking', large);
      return JSON.parse(text);
    });
    for (let upTo = 1; upTo <= inflated.length; upTo += 1) {
      const { actor } = replay(input(), inflated.slice(0, upTo));
      const snapshot = JSON.stringify(actor.getPersistedSnapshot());
      expect(snapshot.length).toBeLessThan(20_000);
      expect(JSON.parse(snapshot)).toEqual(JSON.parse(JSON.stringify(JSON.parse(snapshot))));
    }
  });
});
