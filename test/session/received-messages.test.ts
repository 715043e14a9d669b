import { describe, expect, it } from 'vitest';
import type { Journal, SessionMessage } from '../../src/journal/journal.ts';
import type { TreeLog } from '../../src/journal/tree-log.ts';
import {
  abortSession,
  answerSession,
  approveSession,
  connect,
  decidedBy,
  receiveMessage,
  steerSession,
  stopSession,
} from '../../src/session/recovery/messages.ts';
import type { RootSession } from '../../src/session/running-session.ts';
import { waitingCalls } from '../support/waiting-calls.ts';

/** A session and its sub-agent, which note what they are told, and take in what they wait for. */
function tree({ accepts = true } = {}) {
  const told: unknown[] = [];
  const session = (sessionId: string, approvals: string[], answers: string[]) => ({
    sessionId,
    log: `the log of ${sessionId}`,
    waiting: () => waitingCalls(sessionId, approvals, answers),
    life: { observer: { position: 42, userCodeFailed: (...failure: unknown[]) => told.push(failure) } },
    decide: (...decision: unknown[]) => told.push([sessionId, ...decision]) > 0 && accepts,
    answerCall: (...answer: unknown[]) => told.push([sessionId, ...answer]) > 0 && accepts,
    steer: (text: string) => told.push(['steer', text]) > 0 && accepts,
    stop: () => told.push(['stop']),
    abort: (reason: string) => told.push(['abort', reason]),
  });
  const below = session('below', ['b'], ['c']);
  const above = session('above', ['a'], []);
  const root = { ...above, tree: () => [above, below] } as unknown as RootSession;
  return { root, told };
}

const messages: [SessionMessage, string, unknown[]][] = [
  [
    { type: 'approve', callId: 'b', approved: false, reason: 'no', sessionId: null },
    'the log of below',
    ['below', 'b', { approved: false, input: null, reason: 'no' }],
  ],
  [
    { type: 'answer', callId: 'c', output: 7, isError: true, sessionId: 'below' },
    'the log of below',
    ['below', 'c', { output: 7, isError: true }],
  ],
  [{ type: 'session.steer', text: 'Go on.' }, 'the log of above', ['steer', 'Go on.']],
];

describe('D-2: a message from another process', () => {
  it('decides calls that wait for approval, and no others', () => {
    const left: SessionMessage[] = [
      { type: 'approve', callId: 'b', approved: true, reason: null, sessionId: null },
      { type: 'approve', callId: 'unknown', approved: true, reason: null, sessionId: null },
      { type: 'answer', callId: 'a', output: 7, isError: false, sessionId: null },
      { type: 'session.stop' },
    ];
    expect(
      decidedBy(
        tree().root,
        left.map((message, id) => ({ id, message })),
      ),
    ).toEqual(['below b']);
  });

  it.each([
    ['running', 11],
    ['suspended', 1],
  ] as const)('for a call that does not wait: of a session that is %s, %i looks', async (status, looks) => {
    let looked = 0;
    const journal = {
      ...{ leaseMs: 1, create: 1, append: 1, read: 1, lease: 1, renew: 1, release: 1, inbox: 1, delete: 1, close: 1 },
    };
    const methods = Object.fromEntries(
      Object.entries(journal).map(([name, value]) => [name, name === 'leaseMs' ? value : () => value]),
    );
    const list = async () => {
      looked += 1;
      return [{ status, waitingCalls: waitingCalls('s', ['another']) }];
    };
    const post = () => expect.unreachable();
    const store = { ...methods, list, post } as unknown as Journal;
    expect(await approveSession(store, 's', 'c', { approved: true })).toBe(false);
    expect(looked).toBe(looks);
  });

  it.each(messages)('%j reaches the session that it is for', (message, log, told) => {
    const taking = tree();
    expect(receiveMessage(taking.root, message)).toBe(log);
    expect(taking.told).toEqual([told]);
    // One that comes too late is for none.
    expect(receiveMessage(tree({ accepts: false }).root, message)).toBeNull();
  });

  it('a stop and an abort are for the root', () => {
    const { root, told } = tree();
    expect(receiveMessage(root, { type: 'session.stop' })).toBe('the log of above');
    expect(receiveMessage(root, { type: 'session.abort', reason: 'enough' })).toBe('the log of above');
    expect(told).toEqual([['stop'], ['abort', 'enough']]);
  });

  it('a decision on a call that does not wait reaches no session', () => {
    const { root, told } = tree();
    const none = { reason: null, sessionId: null };
    expect(receiveMessage(root, { type: 'approve', callId: 'x', approved: true, ...none })).toBeNull();
    expect(
      receiveMessage(root, { type: 'answer', callId: 'x', output: 1, isError: false, sessionId: null }),
    ).toBeNull();
    expect(told).toEqual([]);
  });

  it('the log of a tree asks for its position and the calls that wait, and tells of its troubles', () => {
    const { root, told } = tree();
    let tied: Parameters<TreeLog['connect']>[0] | null = null;
    connect(root, { connect: (given: typeof tied) => (tied = given) } as unknown as TreeLog);
    const tie = tied as unknown as Parameters<TreeLog['connect']>[0];
    expect(tie.position()).toBe(42);
    expect(tie.waiting()).toEqual([...waitingCalls('above', ['a']), ...waitingCalls('below', ['b'], ['c'])]);
    expect(tie.receive({ type: 'session.stop' })).toBe('the log of above');
    tie.troubled(new Error('slow'));
    expect(told).toEqual([['stop'], ['journal', new Error('slow')]]);
  });
});

describe('D-2: a command to a session of any process', () => {
  const unused = ['create', 'append', 'read', 'lease', 'renew', 'release', 'inbox', 'delete', 'close'];

  /** A journal with one session, whose sub-agent waits for approval of call `a`, and for the answer to `c`. */
  function posting() {
    const posted: unknown[] = [];
    const journal = {
      ...Object.fromEntries(unused.map((name) => [name, () => undefined])),
      list: async ({ sessionId }: { sessionId: string }) =>
        sessionId === 's' ? [{ waitingCalls: waitingCalls('below', ['a'], ['c']) }] : [],
      post: async (...message: unknown[]) => posted.push(message) > 0,
    } as unknown as Journal;
    return { posted, journal };
  }

  it('is posted, but a decision only if its call waits', async () => {
    const { posted, journal } = posting();
    expect(await approveSession(journal, 's', 'a', { approved: true })).toBe(true);
    expect(await approveSession(journal, 's', 'b', { approved: true })).toBe(false);
    expect(await approveSession(journal, 's', 'a', { approved: true, sessionId: 'above' })).toBe(false);
    expect(await approveSession(journal, 's', 'c', { approved: true })).toBe(false);
    expect(await approveSession(journal, 'unknown', 'a', { approved: true })).toBe(false);
    expect(await answerSession(journal, 's', 'c', undefined)).toBe(true);
    expect(await answerSession(journal, 's', 'c', 7, { isError: true, sessionId: 'below' })).toBe(true);
    expect(await answerSession(journal, 's', 'a', 7)).toBe(false);
    expect(await answerSession(journal, 's', 'b', 7)).toBe(false);
    expect(await steerSession(journal, 's', 'Go on.')).toBe(true);
    expect(await stopSession(journal, 's')).toBe(true);
    expect(await abortSession(journal, 's')).toBe(true);
    expect(await abortSession(journal, 's', 'enough')).toBe(true);
    expect(posted).toEqual([
      ['s', { type: 'approve', callId: 'a', approved: true, reason: null, sessionId: 'below' }],
      ['s', { type: 'answer', callId: 'c', output: null, isError: false, sessionId: 'below' }],
      ['s', { type: 'answer', callId: 'c', output: 7, isError: true, sessionId: 'below' }],
      ['s', { type: 'session.steer', text: 'Go on.' }],
      ['s', { type: 'session.stop' }],
      ['s', { type: 'session.abort', reason: 'aborted by the caller' }],
      ['s', { type: 'session.abort', reason: 'enough' }],
    ]);
  });
});
