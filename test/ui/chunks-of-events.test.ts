import { describe, expect, it } from 'vitest';
import type { Slug } from '../../machines/index.ts';
import { UIChunks } from '../../src/ui/ui-chunks.ts';
import { at, chunksSince, delta, event, failure, named, replied, since } from '../support/ui-events.ts';

describe('S-6: the message of a session', () => {
  it('says how far it is, and what it took', async () => {
    const { ui } = await since(replied([], [], 0.5), event('attempt.started', at), replied([], [], null));
    // Also if the last event is one of a sub-agent.
    expect(ui.metadata(event('x', { seq: 9, sessionId: 's/call', path: ['helper'] }))).toEqual({
      ...{ sessionId: 's', agent: 'a', status: 'running', seq: 9, slugs: [], requests: 2, costUsd: 0.5 },
      usage: { input: 20, output: 10, reasoning: 2, cacheRead: 4, cacheWrite: 6 },
    });
    expect(ui.metadata(event('x'), true).status).toBe('waiting');
    expect((await since(replied([], [], null))).status().costUsd).toBeNull();
    expect((await since(replied([], [], 0.25), replied([], [], 0.5))).status().costUsd).toBe(0.75);
  });

  it.each<[string, object, string, object[]]>([
    ['session.succeeded', {}, 'succeeded', []],
    [
      'session.failed',
      failure(['budget_exhausted', 'interrupted'], null),
      'failed',
      [{ type: 'error', errorText: 'The session failed: budget_exhausted, interrupted' }],
    ],
    [
      'session.failed',
      failure(['budget_exhausted'], 'No time left.'),
      'failed',
      [{ type: 'error', errorText: 'The session failed: budget_exhausted (No time left.)' }],
    ],
    ['session.aborted', failure(['aborted'], 'Enough.'), 'aborted', [{ type: 'abort', reason: 'Enough.' }]],
    [
      'session.aborted',
      failure(['aborted', 'interrupted'], null),
      'aborted',
      [{ type: 'abort', reason: 'aborted, interrupted' }],
    ],
    ['session.suspended', failure(['suspended'], null), 'suspended', []],
  ])('ends with %s %j', async (type, fields, status, chunks) => {
    const ended = await since(event(type, fields));
    expect([ended.status().status, ended.chunks]).toEqual([status, chunks]);
    expect(ended.status().slugs).toEqual('failure' in fields ? (fields.failure as { slugs: Slug[] }).slugs : []);
  });

  it('runs again after it was resumed', async () => {
    const resumed = await since(event('session.suspended', failure(['suspended'], null)), event('session.resumed'));
    expect(resumed.status()).toMatchObject({ status: 'running', slugs: [] });
    expect(resumed.chunks).toEqual([]);
  });

  it('shows a turn before its step and with its attempts', async () => {
    const turn = (status: string, attempts: object[]) => ({
      ...{ type: 'data-turn', id: 'turn-1', data: { turn: 1, isLastTurn: true, status, attempts } },
    });
    const ui = new UIChunks();
    expect(await ui.takeEvent(event('turn.started', { turn: 1, isLastTurn: true }))).toEqual([
      turn('running', []),
      { type: 'start-step' },
    ]);
    const attempt = {
      attempt: 1,
      target: 'one',
      status: 'running',
      slugs: [],
      notice: 'Note.',
      usage: null,
      costUsd: null,
    };
    expect(await ui.takeEvent(event('attempt.started', { ...at, notice: 'Note.' }))).toMatchObject([
      turn('running', [attempt]),
    ]);
    expect(await ui.takeEvent(delta('Say'))).toHaveLength(2);
    expect(
      await ui.takeEvent(
        event('attempt.failed', { ...at, slugs: ['empty_response'], detail: null, partsTakenBack: 1 }),
      ),
    ).toMatchObject([
      { type: 'reset-step' },
      turn('running', [{ attempt: 1, status: 'failed', slugs: ['empty_response'] }]),
    ]);
    for (const [type, status] of [
      ['turn.exhausted', 'exhausted'],
      ['turn.aborted', 'aborted'],
      ['turn.finished', 'finished'],
      ['turn.progressed', 'progressed'],
    ] as const) {
      const [shown, end] = await ui.takeEvent(event(type, { turn: 1, attempts: 1, slugs: [], failure: null }));
      expect([shown, end]).toMatchObject([
        { type: 'data-turn', id: 'turn-1', data: { status } },
        { type: 'finish-step' },
      ]);
    }
  });

  it('shows what the agent says of its progress, and its report', async () => {
    expect(await chunksSince(event('progress.reported', { ...named('progress_report'), message: 'Half.' }))).toEqual([
      { type: 'data-progress', id: 'c0', data: { message: 'Half.' } },
    ]);
    expect(await chunksSince(event('report.accepted', { content: { a: 1 }, source: 'tool_call' }))).toEqual([
      { type: 'data-report', id: 'report-1', data: { state: 'accepted', content: { a: 1 }, source: 'tool_call' } },
    ]);
    const part = { kind: 'tool-input', callId: 'c0', toolName: 'final_report' };
    expect(await chunksSince(delta('{"content":"So', part))).toEqual([
      { type: 'tool-input-start', toolCallId: 'c0', toolName: 'final_report' },
      { type: 'tool-input-delta', toolCallId: 'c0', inputTextDelta: '{"content":"So' },
      { type: 'data-report', id: 'report-1', data: { state: 'partial', content: 'So' } },
    ]);
    expect(await chunksSince(delta('{"content":"So', part), event('attempt.finished', at))).toEqual([]);
    expect(await chunksSince(event('something.new'))).toEqual([]);
  });

  it('what was steered stays when a step is sent again, and not in the next turn', async () => {
    const steered = (seq: number) => event('session.steered', { text: `Text ${seq}.`, seq });
    const shown = (seq: number) => ({ type: 'data-steering', id: `steering-${seq}`, data: { text: `Text ${seq}.` } });
    expect(await chunksSince(steered(7), steered(8))).toEqual([shown(8)]);
    const failed = event('attempt.failed', { ...at, slugs: ['empty_response'], detail: null, partsTakenBack: 0 });
    expect((await chunksSince(steered(7), failed)).slice(0, 2)).toEqual([{ type: 'reset-step' }, shown(7)]);
    const whole = await chunksSince(steered(7), delta('a'), replied([{ type: 'text', text: 'b', ended: true }]));
    expect([whole[0], whole.at(-1)]).toEqual([{ type: 'reset-step' }, shown(7)]);
    const kept = await chunksSince(steered(7), delta('a'), replied([{ type: 'text', text: 'a', ended: true }]));
    expect(kept).toEqual([{ type: 'text-end', id: '1.1.0' }]);
    const { ui } = await since(steered(7), delta('a'));
    expect(ui.again()).toEqual([
      { type: 'reset-step' },
      { type: 'text-start', id: '1.1.0' },
      { type: 'text-delta', id: '1.1.0', delta: 'a' },
      shown(7),
    ]);
    // The second request has what was steered during the first, but not what comes during its own reply.
    const second = { ...at, attempt: 2 };
    const late = await since(steered(7), failed, event('attempt.started', second), delta('b', second), steered(8));
    expect(late.ui.again()).toEqual([
      { type: 'reset-step' },
      shown(7),
      { type: 'text-start', id: '1.2.0' },
      { type: 'text-delta', id: '1.2.0', delta: 'b' },
      shown(8),
    ]);
    const between = await since(steered(7), replied([]), event('attempt.finished', at));
    expect(between.ui.again()).toEqual([]);
    const next = await since(
      steered(7),
      event('turn.started', { turn: 2, isLastTurn: false }),
      event('attempt.started', { ...at, turn: 2 }),
    );
    expect(next.ui.again()).toEqual([{ type: 'reset-step' }]);
  });
});
