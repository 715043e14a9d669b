import { describe, expect, it, vi } from 'vitest';
import { emptyCounters } from '../../machines/index.ts';
import { defineAgent, type SessionEvent, type SessionResult, slice } from '../../src/index.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { assertInvariants, type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { RestateEngine } from '../support/restate-engine.ts';
import { report } from '../support/session.ts';

vi.mock('@restatedev/restate-sdk', async (original) => {
  const { EnginePromise } = await import('../support/restate-attempt.ts');
  return { ...(await original<object>()), RestatePromise: EnginePromise, workflow: (definition: object) => definition };
});
/** So that a test needs no large values. */
const maxValueBytes = 30 * 2 ** 10;

/** Slices that make a result larger than the engine stores, whatever else it holds. */
const kept = (text: string) => ({ kept: slice(text, (state) => state) });

/** A text of so many characters that does not repeat itself. */
const words = (length: number) =>
  Array.from({ length }, (_, index) => index)
    .join(' ')
    .slice(0, length);

const call = { name: 'helper', input: { prompt: 'Help.', reason: 'Long.' } };

async function ran(saying: string, keeping: string, budget: object = {}) {
  let requests = 0;
  const told: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => void told.push(event);
  const helper = defineAgent({
    name: 'helper',
    models: [
      rehearsalModel(({ prompt }) => {
        requests += 1;
        // The second request has a notice.
        return prompt.length > 1 ? report('Helped.') : { text: saying };
      }),
    ],
    limits: { maxTurns: 2, maxRetries: 2 },
    slices: kept(keeping),
  });
  const models = [
    rehearsalModel(() => {
      requests += 1;
      return { calls: [call] };
    }),
  ];
  const limits = { maxTurns: 6, maxRetries: 16, maxTreeRequests: 10 };
  const agent = defineAgent({ name: 'boss', models, agents: { helper }, limits });
  const { handlers } = restateAgents({ agents: [agent], logger: false, onEvent, maxValueBytes }) as never as {
    handlers: never;
  };
  const engine = new RestateEngine(handlers);
  const result = (await engine.returned('run', 's', {
    agent: 'boss',
    prompt: 'Go.',
    budget,
  })) as SessionResult;
  assertInvariants(result);
  return {
    result,
    requests,
    stored: (callId: string) => engine.resultOf(`s/${callId}`),
    ended: told.filter((event) => event.type === 'subAgent.ended'),
    slugs: result.turns.flatMap(({ attempts }) => attempts[0]?.calls.map(({ slug }) => slug)),
  };
}

describe('B-7: the result of a sub-agent that is too large for the engine', () => {
  it('comes without its conversation, and what it spent is counted', async () => {
    const { result, requests, slugs, stored } = await ran(words(25_000), words(8_000));
    expect(stored('call-1-0')).toMatchObject({ report: { content: 'Helped.' }, conversation: [], turns: [] });
    expect(result.counters.tree.requests).toBe(requests);
    expect(result.counters.tree.sessions).toBeGreaterThan(2);
    expect(slugs.slice(0, 2)).toEqual([null, null]);
    expect(requests).toBeLessThanOrEqual(10);
  });

  it('is lost with all of its grant if what is left of it is, so the bound of the tree holds', async () => {
    const { requests, slugs } = await ran('x', words(40_000));
    expect(slugs[0]).toBe('tool_exec_failed');
    expect(requests).toBeGreaterThan(6);
    expect(requests).toBeLessThanOrEqual(10);
  });

  it.each([
    ['slice', words(40_000), 'Read.'],
    ['conversation', '', words(20_000)],
  ])('ends the invocation of the session at the root if its %s is, and says how it ended', async (_, keeping, read) => {
    const model = rehearsalModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? report() : { text: read, calls: [{ name: 'look' }] },
    );
    const agent = defineAgent({ name: 'boss', models: [model], tools: { look: () => 'seen' }, slices: kept(keeping) });
    const { handlers } = restateAgents({ agents: [agent], logger: false, maxValueBytes }) as never as {
      handlers: never;
    };
    const ended = new RestateEngine(handlers).returned('run', 's', { agent: 'boss', prompt: 'Go.' });
    await expect(ended).rejects.toMatchObject({
      code: 413,
      message: expect.stringMatching(
        /^The session s succeeded, but its result has \d+,\d+ bytes; Restate stores at most 30,720 \(`maxValueBytes`\)\.$/,
      ),
    });
  });

  it('is told with what was granted, and why it is lost', async () => {
    const { result, ended } = await ran('x', words(40_000), { tokens: 1_000_000 });
    const [first] = ended;
    const tokens = { ...emptyCounters().tokens, input: expect.any(Number) };
    const spent = { requests: 4, tokens, costUsd: 0 };
    const counters = { ...emptyCounters(), ...spent, tree: { ...emptyCounters().tree, sessions: 1, ...spent } };
    expect(first).toMatchObject({ name: 'helper', status: 'failed', counters });
    // The session itself has spent few of its tokens by then.
    expect(first?.counters.tokens.input).toBeGreaterThan(990_000);
    expect(result.turns[0]?.attempts[0]?.calls[0]?.output).toEqual({
      type: 'error-text',
      value: expect.stringMatching(
        /^helper gave no result: The session s\/.* succeeded, but its result has \d+,\d+ bytes/,
      ),
    });
  });

  it('is counted by the sessions above it as well', async () => {
    let requests = 0;
    const counted = (reply: (prompt: readonly { role: string }[]) => RehearsedReply) =>
      rehearsalModel(({ prompt }) => {
        requests += 1;
        return reply(prompt);
      });
    const help = (name: string) => ({ ...call, name });
    const limits = { maxTurns: 4, maxRetries: 2 };
    const leaf = defineAgent({ name: 'leaf', models: [counted(() => report())], limits, slices: kept(words(40_000)) });
    const mid = defineAgent({
      name: 'mid',
      models: [
        counted((prompt) =>
          prompt.some(({ role }) => role === 'tool') ? report() : { calls: [help('leaf'), help('leaf'), help('leaf')] },
        ),
      ],
      agents: { leaf },
      limits,
    });
    const agent = defineAgent({
      name: 'boss',
      models: [counted(() => ({ calls: [help('mid')] }))],
      agents: { mid },
      limits: { maxTurns: 30, maxRetries: 2, maxTreeRequests: 20 },
    });
    const { handlers } = restateAgents({ agents: [agent], logger: false, maxValueBytes }) as never as {
      handlers: never;
    };
    const begun = { agent: 'boss', prompt: 'Go.' };
    const result = (await new RestateEngine(handlers).returned('run', 's', begun)) as SessionResult;
    assertInvariants(result);
    expect(requests).toBeGreaterThan(6);
    expect(requests).toBeLessThanOrEqual(result.counters.tree.requests);
    expect(result.counters.tree.requests).toBeLessThanOrEqual(20);
  });
});
