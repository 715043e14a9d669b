import { createOpenAI } from '@ai-sdk/openai';
import { APICallError } from '@ai-sdk/provider';
import { customProvider } from 'ai';
import { afterEach, expect, it, vi } from 'vitest';
import { noTimeouts } from '../../src/http/undici-fetch.ts';
import { defineAgent, type SessionResult } from '../../src/index.ts';
import { classifyFault } from '../../src/model/faults.ts';
import type { ModelReference } from '../../src/model/targets.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, report, run, wireModel } from '../support/session.ts';

afterEach(() => vi.unstubAllEnvs());

const nothingSent = counters({ costUsd: 0, slugs: { target_unavailable: 1 } });
const only = (model: ModelReference, more: object = {}) =>
  run({ agent: defineAgent({ name: 'strings', models: [model], limits: { maxRetries: 1 }, ...more }) });
const sayings = ({ report: { content } }: SessionResult) => String(content);

it('P-2: a missing key is target_unavailable before a request, with the variable to set', async () => {
  vi.stubEnv('OPENAI_API_KEY', undefined);
  const { result, errors } = await only('openai:gpt-x');
  expect(result.slugs).toEqual(['target_unavailable']);
  expect(result.failure?.detail).toBe('openai:gpt-x needs a key: set OPENAI_API_KEY.');
  expect(sayings(result)).not.toContain('refused');
  expect(errors[0]).toMatchObject({ slugs: ['target_unavailable'], requests: 0 });
  expect(result.counters).toEqual(nothingSent);
});

it('P-2: if no target can be had, each says why', async () => {
  vi.stubEnv('OPENAI_API_KEY', undefined);
  const models = ['openai:gpt-x', 'mistral:small'] as const;
  const { result } = await run({ agent: defineAgent({ name: 'strings', models: [...models] }) });
  expect(result.failure?.detail).toBe(
    'openai:gpt-x needs a key: set OPENAI_API_KEY. mistral:small needs the package @ai-sdk/mistral: npm install @ai-sdk/mistral; in a bundle, pass `providers: { mistral }`.',
  );
  expect(result.counters).toEqual(nothingSent);
});

it('P-2: a missing package is target_unavailable before a request, with what to install', async () => {
  const { result } = await only('mistral:small');
  expect(result.failure?.detail).toBe(
    'mistral:small needs the package @ai-sdk/mistral: npm install @ai-sdk/mistral; in a bundle, pass `providers: { mistral }`.',
  );
  expect(result.counters).toEqual(nothingSent);
});

it("P-2: a model that the user's provider lacks is target_unavailable before a request", async () => {
  const provider = customProvider({ languageModels: { known: rehearsalModel([report()]) } });
  const { result } = await only('mine:unknown', { providers: { mine: provider } });
  expect(result.slugs).toEqual(['target_unavailable']);
  expect(result.failure?.detail).toContain('unknown');
  expect((await only('mine:known', { providers: { mine: provider } })).result.success).toBe(true);
});

it('P-2: a target that cannot be had is left out from the start, and the next one is used', async () => {
  vi.stubEnv('OPENAI_API_KEY', undefined);
  const spare = rehearsalModel([report()]);
  const { result, events } = await run({ agent: defineAgent({ name: 'two', models: ['openai:gpt-x', spare] }) });
  expect(events.find(({ type }) => type === 'target.excluded')).toMatchObject({
    target: 'openai:gpt-x',
    slug: 'target_unavailable',
    detail: 'openai:gpt-x needs a key: set OPENAI_API_KEY.',
  });
  expect(result.turns[0]?.attempts.map(({ target }) => target)).toEqual(['rehearsal:script']);
  expect(result.counters).toMatchObject({ requests: 1, failedAttempts: 0 });
});

it('P-1: a model handed in without its key is target_unavailable too, never said to be refused', async () => {
  vi.stubEnv('OPENAI_API_KEY', undefined);
  const { result } = await only(createOpenAI({})('gpt-x'));
  expect(result.slugs).toEqual(['no_targets', 'target_unavailable']);
  expect(sayings(result)).toContain('OPENAI_API_KEY');
  expect(sayings(result)).not.toContain('refused');
});

it('a server that cannot be reached ends the session with advice', async () => {
  const { result } = await only(wireModel('openai', 'http://127.0.0.1:9/v1'));
  expect(result.slugs).toContain('network_error');
  expect(sayings(result)).toContain('Check that the provider can be reached');
});

it.each(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT'])(
  'P-1: a timeout of fetch (%s) is a timeout, not a failure of the network',
  (code) => {
    const cause = new TypeError('fetch failed', { cause: Object.assign(new Error('timed out'), { code }) });
    const error = new APICallError({ message: 'Cannot connect', url: 'http://x', requestBodyValues: {}, cause });
    expect(classifyFault(error, 0).kind).toBe('timeout');
  },
);

it('the fetch of a provider that Pawl makes has no timeouts of its own', () => {
  expect(noTimeouts).toEqual({ headersTimeout: 0, bodyTimeout: 0 });
});
