import { tool } from 'ai';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type Session, startSession } from '../../src/index.ts';
import { whatIf } from '../../src/inspect/study/what-if.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

/** A session with an outage, two tools at once, a sub-agent, an approval and a command. */
async function eventful(): Promise<JournalEntry[]> {
  const journal = new MemoryJournal();
  const work = tool({
    inputSchema: z.object({ q: z.string() }),
    needsApproval: ({ q }) => q === 'careful',
    execute: ({ q }) => `found ${q}`,
  });
  const child = defineAgent({ name: 'child', description: 'Helps.', models: [rehearsalModel([{}, report('helped')])] });
  const call = (q: string) => ({ name: 'work', input: { q } });
  const model = rehearsalModel([
    { throws: Object.assign(new Error('busy'), { statusCode: 503 }) },
    { calls: [call('one'), { name: 'child', input: { prompt: 'Help.', reason: 'To see.' } }, call('two')] },
    { calls: [call('three')] },
    { calls: [call('careful')] },
    report(),
  ]);
  const agent = defineAgent({ name: 'parent', models: [model], tools: { work }, agents: { child } });
  const session: Session = startSession(agent, {
    prompt: 'Go.',
    journal,
    sessionId: 's',
    logger: false,
    clock: manualClock(),
    onEvent: (event) => {
      if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
      if (event.type === 'turn.started' && event.turn === 2 && event.path.length === 0) session.steer('Be quick.');
    },
  });
  expect((await session.result).success).toBe(true);
  return JSON.parse(JSON.stringify(await journal.read('s')));
}

/** What the session itself got, and what its machines made of it. */
function courseOf(entries: readonly JournalEntry[]) {
  const own = entries.filter(({ scope }) => scope === '');
  return {
    delivered: own.flatMap((entry) => (entry.type === 'delivered' ? [entry.delivery] : [])),
    stepped: own.flatMap((entry) => (entry.type === 'stepped' ? [entry.facts] : [])),
    offered: own.filter(({ type }) => type === 'offered'),
    sent: own.flatMap((entry) =>
      entry.type === 'sent' ? [[entry.turn, entry.attempt, entry.messages, entry.tools]] : [],
    ),
  };
}

describe('S-8 D-3: replaying a session with one delivery unchanged', () => {
  let entries: JournalEntry[];
  beforeAll(async () => {
    entries = await eventful();
  });

  it('gives the same session, whichever delivery it is, apart from what its sub-agents did', () => {
    const happened = courseOf(entries);
    const kinds = happened.delivered.map((delivery) => ('event' in delivery ? delivery.event.type : delivery.key));
    for (const kind of ['session.steer', /wait/, /tool-1$/, /approval-0$/, /close/])
      expect(kinds).toContainEqual(typeof kind === 'string' ? kind : expect.stringMatching(kind));
    expect(happened.offered.length).toBeGreaterThan(0);
    for (const [index, entry] of entries.entries()) {
      // A command comes before what was delivered, not in its place.
      if (entry.type !== 'delivered' || entry.scope !== '' || 'event' in entry.delivery) continue;
      const again = whatIf(entries, { entry: index + 1, delivery: entry.delivery });
      expect(again.pending).toEqual([]);
      expect(courseOf(again.entries)).toEqual(happened);
    }
  });

  it('no delivery to a sub-agent can be changed', () => {
    const index = entries.findIndex(({ type, scope }) => type === 'delivered' && scope !== '');
    const entry = entries[index];
    if (entry?.type !== 'delivered') throw new Error('there is no sub-agent');
    expect(() => whatIf(entries, { entry: index + 1, delivery: entry.delivery })).toThrow(
      expect.objectContaining({
        code: 'invalid_options',
        message: `\`entry\` must be the number of a delivery to the session; got ${index + 1}.`,
      }),
    );
  });
});
