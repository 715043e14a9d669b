import type { Journal, JournaledSession } from '../../src/journal/journal.ts';
import type { MemoryJournal } from '../../src/journal/memory.ts';
import type { BudgetStore } from '../../src/shared/budget-store.ts';
import type { GateStore } from '../../src/shared/gate-store.ts';

/** What a store does otherwise than a sound one, which it is made of. */
type Broken = (sound: MemoryJournal) => Partial<Journal>;

const yes = async () => true;
const no = async () => false;

/** Lists sessions otherwise than they are. */
const listing =
  (change: (row: JournaledSession) => Partial<JournaledSession>): Broken =>
  (sound) => ({ list: async (query) => (await sound.list(query)).map((row) => ({ ...row, ...change(row) })) });

/** Forgets one of the conditions of a query. */
const notAskedFor =
  (name: string): Broken =>
  (sound) => ({ list: (query) => sound.list({ ...query, [name]: undefined }) });

/** What stores may get wrong, by the check of `journalConformance` that is to find it. */
export const brokenJournals: Record<string, Record<string, Broken>> = {
  'no session exceeds a shared budget, if the store keeps budgets': {
    'lets every share in': budgeting(({ put }) => ({ put: (...[name, id, share]) => put(name, id, share, null) })),
    'lets none in': budgeting(() => ({ put: no })),
    'refuses what has been spent': budgeting(({ put }) => ({
      put: (name, id, share, most) => put(name, id, share, most ?? { requests: 5, tokens: null, costUsd: null }),
    })),
    'forgets a share': budgeting(() => ({ share: async () => null })),
    'knows shares that nobody has': budgeting(({ total }) => ({ share: total })),
    'has one budget for all': budgeting(({ put, total }) => ({
      put: (_, id, share, most) => put('all', id, share, most),
      total: () => total('all'),
    })),
  },
  'the state of a gate is replaced by who read it last, if the store keeps gates': {
    'lets everybody write': gating(({ read, write }) => ({
      write: async (name, _, state) => write(name, (await read(name)).version, state),
    })),
    'refuses every write': gating(() => ({ write: no })),
    'forgets the state': gating(({ read }) => ({ read: async (name) => ({ ...(await read(name)), state: '' }) })),
    'has a clock in seconds': gating(({ read }) => ({
      read: async (name) => ({ ...(await read(name)), now: Date.now() / 1_000 }),
    })),
    'has one gate for all': gating(({ read, write }) => ({
      read: () => read('all'),
      write: (_, version, state) => write('all', version, state),
    })),
  },
  'a new session has its first entries, and its lease': {
    'keeps no first entries': (sound) => ({
      create: (session, append) => sound.create(session, { ...append, entries: [] }),
    }),
    'takes no lease': withoutLease,
    'gives the lease to everyone': () => ({ lease: yes }),
    'refuses the owner its own lease': () => ({ lease: no }),
    'renews the lease for everyone': () => ({ renew: yes }),
    'renews it for no one': () => ({ renew: no }),
    'has entries of sessions that it does not have': () => ({
      read: async () => [{ scope: '', type: 'begun', key: 'first', at: 1 }],
    }),
  },
  'a session is created once': {
    'creates it again': (sound) => ({
      create: (session, append) => sound.create(session, append).catch(() => undefined),
    }),
    'says something else': (sound) => ({
      create: (session, append) =>
        sound.create(session, append).catch(() => Promise.reject(new Error('duplicate key'))),
    }),
    'adds the entries anyway': (sound) => ({
      create: (session, append) =>
        sound.create(session, append).catch(async (error) => {
          await sound.append(session.sessionId, { owner: 'one', after: 1, entries: append.entries });
          throw error;
        }),
    }),
  },
  'entries are appended in order, all or none, by the owner alone': {
    'lets others append': (sound) => ({ append: (id, append) => sound.append(id, { ...append, owner: 'one' }) }),
    'appends wherever the end is': (sound) => ({
      append: async (id, append) => sound.append(id, { ...append, after: (await sound.read(id)).length }),
    }),
    'appends after a gap': (sound) => ({
      append: async (id, append) => {
        const { length } = await sound.read(id);
        return sound.append(id, { ...append, after: Math.min(append.after, length) });
      },
    }),
    'appends to nothing': (sound) => ({
      append: async (id, append) => ((await sound.read(id)).length === 0 ? undefined : sound.append(id, append)),
    }),
    'appends in another order': (sound) => ({
      append: (id, append) => sound.append(id, { ...append, entries: append.entries.toReversed() }),
    }),
    'appends although it refuses': (sound) => ({
      append: (id, append) => sound.append(id, append).catch(addedAll(sound, id, append)),
    }),
    'reads all, wherever one begins': (sound) => ({ read: (id) => sound.read(id) }),
    'fails to read past the end': (sound) => ({
      read: (id, after = 0) => (after > 4 ? Promise.reject(new Error('out of range')) : sound.read(id, after)),
    }),
    'fails to read what it does not have': (sound) => ({
      read: async (id, after = 0) => {
        const all = await sound.read(id);
        if (all.length === 0 && after > 0) throw new Error('no rows');
        return all.slice(after);
      },
    }),
  },
  'entries come back as they were': {
    'keeps no odd characters': (sound) => ({
      read: async (id) => JSON.parse(JSON.stringify(await sound.read(id)).replaceAll('\u2028', ' ')),
    }),
    'cuts long ones': (sound) => ({
      read: async (id) =>
        (await sound.read(id)).map((one) => (one.type === 'begun' ? { ...one, key: one.key.slice(0, 65_536) } : one)),
    }),
  },
  'of many appends at the same place, one succeeds': {
    'refuses none of them': (sound) => ({ append: (id, append) => sound.append(id, append).catch(() => undefined) }),
    'writes each of them': (sound) => ({
      append: (id, append) => sound.append(id, append).catch(addedAll(sound, id, append)),
    }),
  },
  'a lease that was given back can be taken; of many who try, one gets it': {
    'lets anyone give it back': (sound) => ({ release: (id) => sound.release(id, 'one') }),
    'never gives it back': () => ({ release: async () => undefined }),
    'renews one that was given back': () => ({ renew: yes }),
    // Its owners of many letters are those that try together.
    'gives it to several': (sound) => ({
      lease: async (id, owner) => (await sound.lease(id, owner)) || owner.length > 5,
    }),
    'lets the last owner write': (sound) => ({
      append: (id, append) => (append.after === 1 ? Promise.resolve() : sound.append(id, append)),
    }),
    'leases what it does not have': (sound) => ({
      lease: async (id, owner) => (await sound.read(id)).length === 0 || sound.lease(id, owner),
    }),
  },
  'a lease runs out, and its owner is shut out once another has taken it': {
    'never lets it run out': () => ({ lease: no }),
    'lets it run out at once': withoutLease,
    'lets the old owner write': (sound) => ({
      append: (id, append) => (append.owner === 'one' ? Promise.resolve() : sound.append(id, append)),
    }),
    'lets the old owner renew': () => ({ renew: yes }),
    'shuts out the new owner too': (sound) => ({
      append: (id, append) => sound.append(id, { ...append, owner: 'no one' }),
    }),
  },
  'messages wait in order until they are taken with an append': {
    'takes them for sessions that it does not have': (sound) => ({
      post: async (id, message) => (await sound.post(id, message)) || (await sound.read(id)).length === 0,
    }),
    'says that it takes none': (sound) => ({ post: async (id, message) => (await sound.post(id, message)) && false }),
    'takes only the first': (sound) => ({
      post: async (id, message) => ((await sound.inbox(id)).length === 0 ? sound.post(id, message) : true),
    }),
    'has the latest first': (sound) => ({ inbox: async (id) => (await sound.inbox(id)).reverse() }),
    'keeps what was taken': (sound) => ({ append: (id, append) => sound.append(id, { ...append, taken: [] }) }),
    'removes all with the first': (sound) => ({
      append: async (id, append) =>
        sound.append(id, { ...append, taken: (await sound.inbox(id)).map((message) => message.id) }),
    }),
  },
  'an append that is refused keeps its messages': {
    'takes them anyway': (sound) => ({
      append: (id, append) =>
        sound.append(id, append).catch(async (error) => {
          await sound.append(id, { owner: 'one', after: 1, entries: [], taken: append.taken ?? [] });
          throw error;
        }),
    }),
    'refuses none': (sound) => ({ append: (id, append) => sound.append(id, append).catch(() => undefined) }),
  },
  'a call is decided once, as long as it waits, and by what it waits for': {
    'takes whatever is decided': (sound) => ({
      post: async (id, message) => (await sound.post(id, message)) || true,
    }),
    'takes each decision': (sound) => ({
      post: async (id, message) => {
        const posted = await sound.post(id, message);
        const [row] = await sound.list({ sessionId: id });
        return posted || (row?.waitingCalls.length === 0 && (await sound.inbox(id)).length > 0);
      },
    }),
    'lists what is decided': (sound) => {
      let waits: Pick<JournaledSession, 'waiting' | 'waitingCalls'> = { waiting: [], waitingCalls: [] };
      return {
        append: async (id, append) => {
          const { waitingCalls = waits.waitingCalls } = append.change ?? {};
          waits = { waiting: waitingCalls.map(({ callId }) => callId), waitingCalls };
          return sound.append(id, append);
        },
        list: async (query) => (await sound.list(query)).map((row) => ({ ...row, ...waits })),
      };
    },
    'looks at the id of the call alone': (sound) => ({
      post: async (id, message) => {
        if (!('callId' in message)) return sound.post(id, message);
        const [row] = await sound.list({ sessionId: id });
        const call = row?.waitingCalls.find(({ callId }) => callId === message.callId);
        return sound.post(id, { ...message, sessionId: call?.sessionId ?? null });
      },
    }),
  },
  'sessions are listed by status, agent, slug and time, the latest first': {
    'does not look at the id': notAskedFor('sessionId'),
    'does not look at what the id begins with': notAskedFor('idPrefix'),
    'does not look at the status': notAskedFor('status'),
    'does not look at the agent': notAskedFor('agent'),
    'does not look at the slug': notAskedFor('slug'),
    'does not look at the time': notAskedFor('since'),
    'does not look at metadata': notAskedFor('metadata'),
    'has the oldest first': (sound) => ({ list: async (query) => (await sound.list(query)).reverse() }),
    'takes the text "2" for the number': (sound) => ({
      list: async ({ metadata, ...query }) => {
        const texts = Object.entries(metadata ?? {}).map(([name, value]) => [name, String(value)]);
        const all = await sound.list(query);
        return all.filter((row) => texts.every(([name = '', value]) => String(row.metadata[name]) === value));
      },
    }),
    'lists sessions that no process runs as running': listing(({ status }) => ({
      status: status === 'suspended' ? 'running' : status,
    })),
    'forgets metadata': listing(() => ({ metadata: {} })),
    'forgets slugs': listing(() => ({ slugs: [] })),
    'forgets what waits': listing(() => ({ waiting: [], waitingCalls: [] })),
    'forgets where it waits': listing(() => ({ waitingCalls: [] })),
    'confuses agents': listing(() => ({ agent: 'tested' })),
    'miscounts entries': listing(() => ({ entries: 2 })),
    'has times in seconds': listing(({ createdAt }) => ({ createdAt: createdAt / 1_000 })),
    'was never written': listing(() => ({ updatedAt: 0 })),
    'takes messages for sessions that have ended': () => ({ post: yes }),
  },
  'a session is deleted with all it had, but not while a process runs it': {
    'deletes one that runs': (sound) => ({
      delete: async (id) => {
        await sound.release(id, 'one');
        return sound.delete(id);
      },
    }),
    'says that it deleted none': (sound) => ({ delete: async (id) => (await sound.delete(id)) && false }),
    'says that it deleted one that it does not have': (sound) => ({
      delete: async (id) => (await sound.delete(id)) || true,
    }),
    'keeps what it had': (sound) => {
      const old: Awaited<ReturnType<Journal['read']>> = [];
      return {
        read: async (id) => [...old, ...(await sound.read(id))],
        delete: async (id) => {
          old.push(...(await sound.read(id)));
          return sound.delete(id);
        },
      };
    },
    'keeps its messages': () => ({ inbox: async () => [{ id: 1, message: { type: 'session.stop' } }] }),
  },
};

/** Keeps shared gates otherwise. */
function gating(change: (sound: GateStore) => Partial<GateStore>): Broken {
  return ({ gates }) => ({ gates: { ...gates, ...change(gates) } });
}

/** Keeps shared budgets otherwise. */
function budgeting(change: (sound: BudgetStore) => Partial<BudgetStore>): Broken {
  return ({ budgets }) => ({ budgets: { ...budgets, ...change(budgets) } });
}

function withoutLease(sound: MemoryJournal): Partial<Journal> {
  return {
    create: async (session, append) => {
      await sound.create(session, append);
      await sound.release(session.sessionId, append.owner);
    },
  };
}

/** Writes at the end what was refused, and refuses it. */
function addedAll(sound: MemoryJournal, id: string, append: Parameters<Journal['append']>[1]) {
  return async (error: unknown) => {
    const after = (await sound.read(id)).length;
    await sound.append(id, { ...append, owner: 'one', after }).catch(() => undefined);
    throw error;
  };
}
