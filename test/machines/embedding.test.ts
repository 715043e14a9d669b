import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { assign, createActor, fromPromise, sendTo, setup, toPromise } from 'xstate';
import {
  attemptMachine,
  type Delivered,
  type SessionInput,
  sessionMachine,
  turnMachine,
} from '../../machines/index.ts';

const delivered = <T>(outcome: T) => ({ at: 0, chance: 0, outcome });
const input: SessionInput = {
  bound: { maxTurns: 2, maxRetries: 2 },
  maxToolCalls: 5,
  targets: ['own:model'],
  finish: 'text',
  budget: { requests: null, tokens: null, costUsd: null, deadlineAt: null },
  window: { windowTokens: null, reserveTokens: 0 },
  at: 0,
};

/** A session whose effects are promises, and whose model never answers. */
function hanging() {
  const requests: unknown[] = [];
  const model = fromPromise(async ({ input: asked }): Promise<Delivered<'model'>> => {
    requests.push(asked);
    return new Promise(() => {});
  });
  const session = sessionMachine.provide({
    actors: {
      prepare: fromPromise(
        async (): Promise<Delivered<'prepare'>> =>
          delivered({ ok: true, instructions: null, unavailable: [], tokens: 0, results: [] }),
      ),
      turn: turnMachine.provide({ actors: { attempt: attemptMachine.provide({ actors: { model } }) } }),
      close: fromPromise(async (): Promise<Delivered<'close'>> => delivered({})),
    },
  });
  const desk = setup({
    types: { context: {} as { status: string }, events: {} as { type: 'hangUp' } },
    actors: { session },
  }).createMachine({
    context: { status: 'open' },
    initial: 'answering',
    states: {
      answering: {
        invoke: {
          id: 'session',
          src: 'session',
          input,
          onDone: { target: 'closed', actions: assign({ status: ({ event }) => event.output.status }) },
        },
        on: { hangUp: { actions: sendTo('session', { type: 'session.abort', reason: 'hung up' }) } },
      },
      closed: { type: 'final' },
    },
  });
  return { desk, requests };
}

describe('D-1: the machines inside a machine of the user', () => {
  it('the guide runs, and prints what it says', () => {
    const [, code = ''] = /```ts\n(.*?)```/s.exec(readFileSync('docs/guides/xstate.md', 'utf8')) ?? [];
    const own = code.replace("'pawl/machines'", JSON.stringify(join(process.cwd(), 'machines/index.ts')));
    const said = execFileSync(process.execPath, ['--input-type=module-typescript', '--eval', own], {
      encoding: 'utf8',
    });
    expect(`// ${said}`).toBe(`${code.trim().split('\n').at(-1)}\n`);
  });

  it('an event reaches the session, which still ends with its output; facts are seen by an inspector', async () => {
    const { desk, requests } = hanging();
    const machines = new Set<string>();
    const actor = createActor(desk, {
      inspect: ({ actorRef }) => void machines.add('id' in actorRef ? String(actorRef.id) : ''),
    });
    actor.start();
    while (requests.length === 0) await new Promise(setImmediate);
    actor.send({ type: 'hangUp' });
    await toPromise(actor);
    expect(actor.getSnapshot().context.status).toBe('aborted');
    expect([...machines]).toEqual(expect.arrayContaining(['session', 'turn', 'attempt', 'model']));
    expect(requests).toEqual([expect.objectContaining({ key: 'turn-1/attempt-1/model' })]);
  });

  it('a persisted snapshot continues: the promise that was under way begins again', async () => {
    const first = hanging();
    const actor = createActor(first.desk).start();
    while (first.requests.length === 0) await new Promise(setImmediate);
    const snapshot = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()));
    actor.stop();
    const second = hanging();
    const again = createActor(second.desk, { snapshot }).start();
    while (second.requests.length === 0) await new Promise(setImmediate);
    expect(second.requests).toEqual(first.requests);
    again.send({ type: 'hangUp' });
    await toPromise(again);
    expect(again.getSnapshot().context.status).toBe('aborted');
  });

  it('a promise with another outcome does not compile', () => {
    const wrong = fromPromise(async () => delivered('nothing'));
    // @ts-expect-error the outcome is no model's
    expect(attemptMachine.provide({ actors: { model: wrong } })).toBeDefined();
  });
});
