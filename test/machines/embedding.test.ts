import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { WebSocket } from 'ws';
import { assign, createActor, fromPromise, sendTo, setup, toPromise } from 'xstate';
import {
  attemptMachine,
  type Delivered,
  delivered,
  type SessionInput,
  sessionMachine,
  turnMachine,
} from '../../machines/index.ts';
import { statelyInspector } from '../../src/inspect/index.ts';
import { freePort } from '../support/free-port.ts';

const input: SessionInput = {
  bound: { maxTurns: 2, maxRetries: 2 },
  maxToolCalls: 5,
  targets: ['own:model'],
  finish: 'text',
  budget: { requests: null, tokens: null, costUsd: null, deadlineAt: null },
  window: { windowTokens: null, reserveTokens: 0 },
  plansTurns: false,
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
          delivered(
            { ok: true, instructions: null, messages: null, unavailable: [], tokens: 0, results: [], oldText: 0 },
            0,
            0,
          ),
      ),
      turn: turnMachine.provide({ actors: { attempt: attemptMachine.provide({ actors: { model } }) } }),
      close: fromPromise(async (): Promise<Delivered<'close'>> => delivered({}, 0, 0)),
    },
  });
  const desk = setup({
    types: { context: {} as { status: string }, events: {} as { type: 'hangUp' } },
    actors: { session },
  }).createMachine({
    id: 'desk',
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

  it('the Stately inspector shows the user’s machine and the session inside it', async () => {
    const { desk, requests } = hanging();
    const port = await freePort();
    const inspector = await statelyInspector({ port });
    const page = new WebSocket(`ws://127.0.0.1:${port}`);
    const actors: string[] = [];
    page.on('message', (data) => {
      const told = JSON.parse(String(data));
      if (told.type === '@xstate.actor') actors.push(told.name);
    });
    await once(page, 'open');
    const actor = createActor(desk, { inspect: inspector.inspect }).start();
    while (requests.length === 0) await new Promise(setImmediate);
    actor.send({ type: 'hangUp' });
    await toPromise(actor);
    await expect.poll(() => actors).toEqual(['desk', 'session', 'prepare', 'turn 1', 'attempt 1', 'model', 'close']);
    page.close();
    inspector.stop();
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
    type Model = NonNullable<NonNullable<Parameters<typeof attemptMachine.provide>[0]['actors']>['model']>;
    const right = fromPromise(async (): Promise<Delivered<'model'>> => new Promise(() => {}));
    const wrong = fromPromise(async () => delivered('nothing', 0, 0));
    expectTypeOf(right).toExtend<Model>();
    expectTypeOf(wrong).not.toExtend<Model>();
  });
});
