import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Agent,
  defineAgent,
  idempotent,
  type Journal,
  readBeforeWrite,
  replaySession,
  resumeAll,
  resumeSession,
  type Session,
  type SessionEvent,
  slice,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { dyingJournal } from '../support/dying-journal.ts';
import { inputSchema, workingAgent } from '../support/journaled.ts';
import { mayLeave } from '../support/leftovers.ts';
import { report } from '../support/session.ts';

// A process whose death is simulated leaves its timers.
mayLeave('Timeout');

/** Two helpers side by side, each with a helper of its own; `worked` notes what their tools did. */
function family() {
  const worked: string[] = [];
  const goOf = (prompt: unknown) => JSON.stringify(prompt).includes('tool-result');
  const work = (name: string) => tool({ inputSchema, execute: () => void worked.push(name) });
  const leaf = defineAgent({
    name: 'leaf',
    models: [
      rehearsalModel(({ prompt }) => (goOf(prompt) ? report('Leaf.') : { calls: [{ name: 'dig', input: {} }] })),
    ],
    tools: { dig: work('dig') },
    limits: { maxRetries: 9 },
  });
  const branch = defineAgent({
    name: 'branch',
    models: [
      rehearsalModel(({ prompt }) =>
        goOf(prompt)
          ? report('Branch.')
          : { calls: [{ name: 'leaf', input: { prompt: 'Dig.', reason: 'It is deep.' } }] },
      ),
    ],
    agents: { leaf },
    limits: { maxRetries: 9 },
  });
  const root = defineAgent({
    name: 'root',
    models: [
      rehearsalModel(({ prompt }) =>
        goOf(prompt)
          ? report('Root.')
          : {
              calls: ['one', 'two'].map((id) => ({
                id,
                name: 'branch',
                input: { prompt: `Go, ${id}.`, reason: 'Two are faster.' },
              })),
            },
      ),
    ],
    agents: { branch },
    limits: { maxRetries: 9, maxTreeRequests: 60, maxDepth: 4 },
  });
  return { root, worked };
}

type Act = (session: Session) => void;

/** Lives the family's session, which dies at write `at`; `act` is done once `when` says so. */
async function livesOf(agent: Agent, at: number, when: (event: SessionEvent) => boolean, act: Act) {
  const journal = sqliteJournal(':memory:');
  let acted = false;
  const live = async (own: Journal): Promise<Session> => {
    const held: { session: Session | null } = { session: null };
    const onEvent = (event: SessionEvent) => {
      if (acted || !when(event)) return;
      acted = true;
      queueMicrotask(() => held.session !== null && act(held.session));
    };
    const options = { journal: own, sessionId: 's', logger: false as const, onEvent };
    const begun = (await journal.read('s')).length > 0;
    held.session = begun ? await resumeSession(agent, options) : startSession(agent, { ...options, prompt: 'Go.' });
    return held.session;
  };
  const dying = dyingJournal(journal, at, 'after');
  await Promise.race([dying.died, live(dying.journal).then(({ result }) => result)]);
  const session = await live(journal);
  return { result: await session.result, journal, writes: dying.writes() };
}

describe('D-2, D-4: commands and sub-agents across a crash', () => {
  const isLeaf = (event: SessionEvent) => event.type === 'attempt.started' && event.path.length === 2;
  const acts: [string, Act][] = [
    ['nothing', () => {}],
    ['stop', (session) => session.stop()],
    ['abort', (session) => session.abort('enough')],
    ['steer', (session) => void session.steer('Be quick.')],
  ];
  it.each(acts)('%s, in a tree of three levels that dies at any write', async (name, act) => {
    const whole = await livesOf(family().root, Number.POSITIVE_INFINITY, isLeaf, act);
    for (let at = 2; at <= whole.writes; at += 3) {
      const { root, worked } = family();
      const { result, journal } = await livesOf(root, at, isLeaf, act);
      assertInvariants(result);
      expect([at, result.status]).toEqual([at, name === 'abort' ? result.status : 'succeeded']);
      expect(worked.length).toBeLessThanOrEqual(6);
      const replayed = await replaySession(journal, 's');
      expect([at, replayed.difference]).toEqual([at, null]);
      expect([at, replayed.counters]).toEqual([at, result.counters]);
      expect(replayed.pending).toEqual([]);
    }
  });
});

describe('D-3: what is known of a session comes back', () => {
  it('slices, kept results, and what the policies go by', async () => {
    const large = Array.from({ length: 600 }, (_, index) => `line ${index}`).join('\n');
    const written: string[] = [];
    const agent = defineAgent({
      name: 'knowing',
      models: [
        rehearsalModel(({ prompt }) => {
          const text = JSON.stringify(prompt);
          if (!text.includes('"toolName":"read"')) return { calls: [{ name: 'read', input: { path: 'a' } }] };
          if (!text.includes('"toolName":"read_result"')) {
            return { calls: [{ name: 'read_result', input: { id: /id (r[\d_]+)/.exec(text)?.[1], page: 2 } }] };
          }
          if (!text.includes('"toolName":"write"')) return { calls: [{ name: 'write', input: { path: 'a' } }] };
          return report();
        }),
      ],
      tools: {
        read: idempotent(tool({ inputSchema: z.object({ path: z.string() }), execute: () => large })),
        write: tool({ inputSchema: z.object({ path: z.string() }), execute: ({ path }) => void written.push(path) }),
      },
      toolPolicies: [readBeforeWrite({ read: 'read', write: 'write' })],
      builtIns: { readResult: true },
      slices: {
        names: slice<string[]>([], (names, event) => (event.type === 'tool.answered' ? [...names, event.name] : names)),
      },
      limits: { toolResultBytes: 1_024, maxRetries: 9 },
    });
    for (let at = 3; at < 20; at += 1) {
      const { result } = await livesOf(
        agent,
        at,
        () => false,
        () => {},
      );
      const calls = result.turns.flatMap(({ attempts }) => attempts.flatMap((attempt) => attempt.calls));
      expect([at, result.success]).toEqual([at, true]);
      expect([at, result.slices.names]).toEqual([at, calls.map(({ name }) => name)]);
      const page = calls.find(({ name, slug }) => name === 'read_result' && slug === null);
      expect([at, JSON.stringify(page?.output)]).toEqual([at, expect.stringContaining('[page 2 of ')]);
    }
    expect(written.length).toBeGreaterThan(10);
  });

  it('resumeAll resumes all that it can, and says what it refused', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent } = workingAgent();
    const other = workingAgent({ name: 'other', limits: { maxTurns: 5 } }).agent;
    const changed = workingAgent({ name: 'other', finish: 'text' }).agent;
    for (const [own, sessionId] of [
      [agent, 'a'],
      [agent, 'b'],
      [other, 'c'],
      [workingAgent({ name: 'unknown' }).agent, 'd'],
    ] as const) {
      const dying = dyingJournal(journal, 4, 'after');
      startSession(own, { prompt: 'Go.', journal: dying.journal, sessionId, logger: false });
      await dying.died;
    }
    const { sessions, refused } = await resumeAll([agent, changed], { journal, logger: false });
    expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(['a', 'b']);
    expect(refused).toMatchObject([{ sessionId: 'c', error: { code: 'agent_changed' } }]);
    for (const { result } of sessions) expect((await result).success).toBe(true);
    expect((await journal.list({ status: 'suspended' })).map(({ sessionId }) => sessionId).toSorted()).toEqual([
      'c',
      'd',
    ]);
  });
});
