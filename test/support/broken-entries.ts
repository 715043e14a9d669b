import { tool } from 'ai';
import { z } from 'zod';
import { defineAgent, forkSession, readSession, replaySession, resumeSession, runSession } from '../../src/index.ts';
import { sessionFile } from '../../src/inspect/index.ts';
import { MicrostepReplay } from '../../src/inspect/recorded/microstep-replay.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from './session.ts';

const echo = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => q });
const call = { text: 'Hm.', calls: [{ name: 'echo', input: { q: 'x' } }] };
const asked = { calls: [{ name: 'helper', input: { prompt: 'Help.', reason: 'Two see more.' } }] };
const agentOf = () => {
  const helper = defineAgent({ name: 'helper', models: [rehearsalModel([report()])] });
  const models = [rehearsalModel([call, {}, asked, report()])];
  return defineAgent({ name: 'a', models, tools: { echo }, agents: { helper } });
};

export type Place = readonly (string | number)[];

/** Every place in a value, as the names that lead to it. */
export function placesIn(value: unknown, place: Place = []): Place[] {
  const inner =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, one]) => placesIn(one, [...place, name]))
      : [];
  return place.length === 0 ? inner : [place, ...inner];
}

export const missing = Symbol('missing');

/** The entries with something else at a place, or nothing. */
export function withAt(entries: readonly JournalEntry[], place: Place, value: unknown): JournalEntry[] {
  const copy = JSON.parse(JSON.stringify(entries));
  let at = copy;
  for (const name of place.slice(0, -1)) at = at[name];
  const last = place.at(-1) ?? 0;
  if (value !== missing) at[last] = value;
  else if (Array.isArray(at)) at.splice(Number(last), 1);
  else delete at[last];
  return copy;
}

/** The entries of a session with a tool, a reply without content and a sub-agent. */
export async function wholeEntries(): Promise<JournalEntry[]> {
  const journal = new MemoryJournal();
  await runSession(agentOf(), { prompt: 'Go.', journal, sessionId: 's', logger: false });
  return JSON.parse(JSON.stringify(await journal.read('s')));
}

const kept = async (broken: readonly JournalEntry[]) => {
  const journal = new MemoryJournal();
  await journal.create({ sessionId: 's', agent: 'a', metadata: {} }, { owner: 'o', entries: broken });
  await journal.release('s', 'o');
  return journal;
};
export const resumed = async (broken: readonly JournalEntry[]) => {
  const session = await resumeSession(agentOf(), { journal: await kept(broken), sessionId: 's', logger: false });
  session.abort();
  return session.result;
};
export const acts: Record<string, (broken: readonly JournalEntry[]) => Promise<unknown>> = {
  resumed,
  replayed: async (broken) => replaySession(await kept(broken), 's'),
  read: async (broken) => readSession(await kept(broken), 's'),
  forked: async (broken) => forkSession(await kept(broken), 's', { at: 'turn-2' }),
  'played for the inspector': async (broken) => new MicrostepReplay().play(broken),
  'shown in a file': async (broken) => sessionFile(broken),
};

/** The facts of an entry that is a step. */
export function factsOf(entry: JournalEntry | undefined): { type: string }[] {
  return entry?.type === 'stepped' ? [...entry.facts] : [];
}
