import { describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent, runSession } from '../../src/index.ts';
import { MicrostepReplay } from '../../src/inspect/recorded/microstep-replay.ts';
import { ShownRecording } from '../../src/inspect/recorded/shown-recording.ts';
import {
  reportOf,
  sessionStory,
  spentByAgent,
  spentByModel,
  spentByTurn,
  spentInTree,
} from '../../src/inspect/study/overview.ts';
import { presetsFor } from '../../src/inspect/study/presets.ts';
import { ledTo, whatIf } from '../../src/inspect/study/what-if.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const usage = { input: 1_000, output: 100 };
const price = { input: 1, output: 10 };

async function recordedOf(replies: RehearsedReply[], definition: Partial<AgentDefinition> = {}, options: object = {}) {
  const journal = new MemoryJournal();
  const agent = defineAgent({
    name: 'clerk',
    models: [rehearsalModel(replies.map((reply) => ({ usage, ...reply })))],
    tools: { work: () => 'done' },
    pricing: { 'rehearsal:script': price },
    limits: { maxRetries: 3 },
    ...definition,
  });
  const result = await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false, ...options });
  const entries = await journal.read('s');
  const recorded = new ShownRecording();
  recorded.takePart(new MicrostepReplay().play(entries));
  return { result, recorded, entries };
}

const work = { calls: [{ name: 'work', input: {} }] };
const cut = { text: 'half of', finishReason: 'length' as const };

describe('S-8: what a session was, at a glance', () => {
  it.each<[string, RehearsedReply[], object, RegExp]>([
    [
      'one that failed',
      [work, {}, { calls: [{ name: 'nope' }] }, cut],
      {},
      /^Failed in turn 2: 3 of 3 attempts failed; the last: text_only, response_truncated\.$/,
    ],
    ['one that succeeded', [work, report()], {}, /^Succeeded after 2 turns\.$/],
    [
      'one that was told what went wrong',
      [{ calls: [{ name: 'work', input: '{"q": ' as never }] }, {}, {}],
      {},
      /^Failed in turn 1: 3 of 3 attempts failed; the last: empty_response\.$/,
    ],
    [
      'one whose time was over',
      [],
      { budget: { requests: 1 }, signal: AbortSignal.abort('enough') },
      /^Aborted before the first turn; aborted, “enough”\.$/,
    ],
  ])('%s in one sentence', async (_, replies, options, story) => {
    const { recorded } = await recordedOf(replies, {}, options);
    expect(sessionStory(recorded, 'not ended')).toMatch(story);
  });

  it('one that has not ended says where it is', async () => {
    const { entries } = await recordedOf([work, report()]);
    const recorded = new ShownRecording();
    recorded.takePart(new MicrostepReplay().play(entries.slice(0, 9)));
    expect(sessionStory(recorded, 'running')).toMatch(/^Running in turn 1: .+\.$/);
  });

  it('costs what its whole tree cost, by agent, model and turn', async () => {
    const helper = defineAgent({
      name: 'helper',
      models: [rehearsalModel([{ usage, ...report('Helped.') }], { modelId: 'small' })],
      pricing: { 'rehearsal:small': { input: 0.1, output: 1 } },
    });
    const ask = { calls: [{ name: 'helper', input: { prompt: 'Do it.', reason: 'r' } }] };
    const { recorded, result } = await recordedOf([ask, report('All done.')], { agents: { helper } });
    const whole = spentInTree(recorded);
    const { tree } = result.counters;
    expect(whole).toEqual({
      requests: tree.requests,
      input: tree.tokens.input,
      output: tree.tokens.output,
      cacheRead: 0,
      costUsd: expect.closeTo(tree.costUsd ?? 0, 9),
    });
    expect(spentByAgent(recorded).map(({ name, requests }) => [name, requests])).toEqual([
      ['clerk', 2],
      ['helper', 1],
    ]);
    expect(spentByModel(recorded).map(({ name, costUsd }) => [name, costUsd])).toEqual([
      ['rehearsal:script', expect.closeTo(0.004, 9)],
      ['rehearsal:small', expect.closeTo(0.0002, 9)],
    ]);
    expect(spentByTurn(recorded).map(({ name, requests }) => [name, requests])).toEqual([
      ['turn 1', 1],
      ['turn 2', 1],
    ]);
    expect(reportOf(recorded)).toBe('All done.');
  });

  it('has no price where one is unknown, and a what-if keeps the price', async () => {
    const unpriced = await recordedOf([report()], { pricing: {} });
    expect(spentInTree(unpriced.recorded).costUsd).toBeNull();
    const { recorded, entries } = await recordedOf([work, {}, report()]);
    const step = recorded.microsteps.findIndex(({ facts }) =>
      recorded.told.slice(0, facts).some((one) => 'fact' in one && one.fact.type === 'attempt.replied'),
    );
    const led = ledTo(entries, recorded.microsteps[step]?.entry ?? 0);
    if (led === null) throw new Error('no delivery led there');
    for (const name of ['a fault: server', 'an empty reply']) {
      const preset = presetsFor(led.delivery).find((one) => one.name === name);
      if (preset === undefined) throw new Error(`no preset ${name}`);
      const other = new ShownRecording();
      other.takePart(new MicrostepReplay().play(whatIf(entries, { ...led, delivery: preset.delivery }).entries));
      // An empty reply is paid for as the recorded one was.
      const { costUsd } = spentInTree(other, other.told.length);
      expect([name, costUsd === null]).toEqual([name, false]);
      expect(costUsd).toBeGreaterThanOrEqual(name === 'an empty reply' ? 0.002 : 0);
    }
  });
});
