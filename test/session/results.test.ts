import { describe, expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import { defineAgent } from '../../src/index.ts';
import type { ScopeLog } from '../../src/journal/scope-log.ts';
import type { SessionEffects } from '../../src/session/effects/effects.ts';
import { type Ended, outputOf, sessionResult } from '../../src/session/result.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { started, watched } from '../support/observer.ts';
import { replySaying, usage } from '../support/replies.ts';

const agent = defineAgent({ name: 'noting', models: [rehearsalModel([])] });
const failure = { slugs: ['budget_exhausted' as const], retryAt: null, detail: null };

/** A session whose one reply says and shows something, and whose report was accepted. */
function session(accepted: object | null, secrets: string[] = []): Ended<unknown> {
  const { observer } = watched({ secrets });
  const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } };
  const said = replySaying('See.');
  const reply = { ...said, content: [...said.content, image] } as never;
  observer.takeFact({ type: 'turn.started', turn: 1, isLastTurn: false });
  observer.takeFact(started());
  observer.takeFact({
    ...{ type: 'attempt.replied', turn: 1, attempt: 1, target: 'one' },
    ...{ reply, fault: null, calls: [], usage, costUsd: null },
  });
  observer.folds.records.accepted = accepted as never;
  observer.folds.slices.states.count = 1;
  return {
    identity: {
      agent,
      head: { sessionId: 's', prompt: 'Look.', metadata: { user: 'u' } } as never,
      secrets,
      contextFor: () => null,
    },
    observer,
    counters: structuredClone(observer.counters),
  };
}
const ended = { status: 'succeeded' as const, turns: 1 } as never;

describe('F-1: the report of a session', () => {
  it('is the accepted one, without secrets; the files of a plain reply come with it', () => {
    const result = sessionResult(session({ source: 'text_fallback', content: 'It is hunter2.' }, ['hunter2']), ended);
    expect(result).toMatchObject({ status: 'succeeded', success: true, slugs: [], handedTo: null });
    expect(result.report).toEqual({
      ...{ source: 'text_fallback', format: 'text', content: 'It is [redacted].', accepted: true },
      files: [expect.objectContaining({ mediaType: 'image/png' })],
    });
  });

  it('that was delivered by a call has no files', () => {
    const { report } = sessionResult(session({ source: 'tool', content: 'So.' }), ended);
    expect(report).toEqual({ source: 'tool', format: 'text', content: 'So.', accepted: true });
  });

  it('of a plain reply without files has no list of them', () => {
    const one = session({ source: 'text_fallback', content: 'So.' });
    one.observer.takeFact(started(2));
    const { report } = sessionResult(one, ended);
    expect(report).not.toHaveProperty('files');
  });

  it.each([null, { source: 'synthetic', content: 'So.' }])(
    'must exist if a session succeeds: %j is a defect',
    (accepted) => {
      expect(() => sessionResult(session(accepted), ended)).toThrow('a session succeeded without a report');
    },
  );

  it.each(['failed', 'aborted', 'suspended'] as const)('F-5: is written for one that %s, and says why', (status) => {
    const one = session({ source: 'tool', content: 'So.' });
    const result = sessionResult(one, { status, failure } as never);
    expect(result).toMatchObject({ status, success: false, slugs: ['budget_exhausted'], failure });
    expect(result.report).toMatchObject({ source: 'synthetic', format: 'text', accepted: false });
    expect(JSON.stringify(result.report)).toContain('Look.');
  });

  it('S-4: comes with the account of the session, which later results do not change', () => {
    const one = session(null);
    const result = sessionResult(one, { status: 'failed', failure } as never);
    const { counters } = result;
    one.observer.sight({ type: 'effect.late', key: 'k' });
    one.observer.folds.slices.states.count = 2;
    expect([result.counters, result.slices, result.metadata]).toEqual([counters, { count: 1 }, { user: 'u' }]);
    expect([counters.lateResults, result.sessionId, result.agent, result.turns.length]).toEqual([0, 's', 'noting', 1]);
  });
});

describe('S-3: how the machines of a session ended', () => {
  const effectsThat = (close: () => Promise<void>) => ({ tools: { close } }) as unknown as SessionEffects;

  it('is their output, of which nothing is reported again', async () => {
    const { observer, heard } = watched();
    expect(await outputOf({ output: ended }, { observer, effects: effectsThat(() => Promise.reject()) }, null)).toBe(
      ended,
    );
    expect(heard).toEqual([]);
  });

  it.each(['in memory', 'in its journal'])('is a failure if they broke, which is said once, %s', async (place) => {
    const { observer, heard } = watched();
    const applied: number[] = [];
    const log = {
      applying: ({ take }: { take: () => void }) => {
        take();
        applied.push(heard.length);
      },
    } as unknown as ScopeLog;
    const inMemory = place === 'in memory';
    const broken = { slugs: ['internal_error'], retryAt: null, detail: 'Broken.' };
    const effects = effectsThat(async () => void applied.push(-1));
    const output = await outputOf({ defect: new Error('Broken.') }, { observer, effects }, inMemory ? null : log);
    expect(output).toEqual({ status: 'failed', failure: broken });
    const fact: Fact = { type: 'session.failed', turns: 0, failure: broken as never };
    expect(heard).toMatchObject([fact]);
    expect(applied).toEqual(inMemory ? [-1] : [-1, 1]);
  });
});
