import { describe, expect, it } from 'vitest';
import { defineAgent, resumeSession, runSession, sqliteJournal, startSession } from '../../src/index.ts';
import type { Telemetry } from '../../src/observe/telemetry.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { report } from '../support/session.ts';

/** Notes whose sessions it watches, and what became of them. */
function watch(): Telemetry & { seen: string[] } {
  const seen: string[] = [];
  return {
    seen,
    session: ({ agent }) => ({
      event: ({ type, path }) =>
        void (path.length === 0 && /^session\.(?!prepared)/.test(type) && seen.push(`${agent} ${type}`)),
      around: (_, work) => work(),
    }),
  };
}

describe('the telemetry of an agent', () => {
  const helper = () => defineAgent({ name: 'helper', models: [rehearsalModel([report()])] });
  const asking = { calls: [{ name: 'help', input: { prompt: 'x', reason: 'y' } }] };

  it('watches its sessions and those of its sub-agents, unless a session is given its own', async () => {
    const [own, other] = [watch(), watch()];
    const made = () => ({ name: 'a', models: [rehearsalModel([asking, report()])], agents: { help: helper() } });
    await runSession(defineAgent({ ...made(), telemetry: own }), { prompt: 'x', logger: false });
    const all = ['a session.started', 'helper session.started', 'helper session.succeeded', 'a session.succeeded'];
    expect(own.seen).toEqual(all);
    await runSession(defineAgent({ ...made(), telemetry: own }), { prompt: 'x', logger: false, telemetry: other });
    expect([own.seen.length, other.seen]).toEqual([4, all]);
  });

  it('watches a session that is resumed', async () => {
    const own = watch();
    const hanging = { models: [rehearsalModel([{ hangs: true }, report()])] };
    const agent = defineAgent({ name: 'a', ...hanging, telemetry: own });
    const journal = sqliteJournal(freshFile());
    const session = startSession(agent, { prompt: 'x', logger: false, journal, sessionId: 's' });
    await expect.poll(() => session.counters.requests).toBe(1);
    await session.suspend({ graceMs: 0 });
    await (await resumeSession(agent, { journal, sessionId: 's', logger: false })).result;
    expect(own.seen).toEqual(['a session.started', 'a session.suspended', 'a session.resumed', 'a session.succeeded']);
  });

  it('must be one', () => {
    expect(() => defineAgent({ name: 'a', models: [rehearsalModel([])], telemetry: {} as never })).toThrow(
      '`telemetry` must be what openTelemetry() of pawl/otel returns; got {}.',
    );
  });
});
