import { NoSuchModelError, type ProviderV4 } from '@ai-sdk/provider';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  keyVariable,
  knownProviders,
  parseModelString,
  Target,
  targetName,
  unavailableTargets,
} from '../../src/model/targets.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const model = rehearsalModel([{}], { provider: 'own.chat', modelId: 'm' });
const provider = (languageModel: (id: string) => unknown) => ({ languageModel }) as unknown as ProviderV4;
const target = (reference: unknown, providers: Record<string, ProviderV4> = {}) =>
  new Target('name', reference as never, providers);
const unavailable = (message: string) => ({ target: 0, message });

afterEach(() => vi.unstubAllEnvs());

describe('P-1: names of models', () => {
  it.each<[string, unknown]>([
    ['openai:gpt-5', { provider: 'openai', model: 'gpt-5' }],
    ['openai:ft:gpt-5:a/b', { provider: 'openai', model: 'ft:gpt-5:a/b' }],
    ['gpt-5', null],
    [':gpt-5', null],
    ['openai:', null],
    ['open ai:gpt-5', null],
    ['openai:gpt 5', null],
    ['', null],
  ])('%j', (text, parsed) => expect(parseModelString(text)).toEqual(parsed));

  it('a target is named by its provider and its model', () => {
    expect(targetName('openai:gpt-5')).toBe('openai:gpt-5');
    expect(targetName(model)).toBe('own:m');
    expect(knownProviders).toEqual(['anthropic', 'google', 'groq', 'mistral', 'openai', 'xai']);
    expect(knownProviders.map((name) => keyVariable(`${name}:m`))).toEqual([
      'ANTHROPIC_API_KEY',
      'GOOGLE_GENERATIVE_AI_API_KEY',
      'GROQ_API_KEY',
      'MISTRAL_API_KEY',
      'OPENAI_API_KEY',
      'XAI_API_KEY',
    ]);
    expect([keyVariable('other:m'), keyVariable('openai')]).toEqual([null, null]);
  });

  it('two are the same if their models are, and their providers', () => {
    const own = provider(() => model);
    expect(target(model).isSame(target(model, { own }))).toBe(true);
    expect(target(model).isSame(target(rehearsalModel([{}])))).toBe(false);
    expect(target('own:m', { own }).isSame(target('own:m', { own, other: provider(() => model) }))).toBe(true);
    expect(target('own:m', { own }).isSame(target('own:m'))).toBe(false);
    expect(target('own:m', { own }).isSame(target('own:n', { own }))).toBe(false);
    expect(target('m', { own }).isSame(target('m'))).toBe(true);
    const one = target('own:m', { own });
    expect(one.named('name')).toBe(one);
    expect(one.named('other')).toMatchObject({ name: 'other' });
    expect(one.named('other').isSame(one)).toBe(true);
  });
});

describe('P-2: models that cannot be had', () => {
  it('a known provider needs its key', () => {
    vi.stubEnv('OPENAI_API_KEY', '');
    expect(unavailableTargets([target('openai:gpt-5')])).toEqual([
      unavailable('openai:gpt-5 needs a key: set OPENAI_API_KEY.'),
    ]);
    vi.stubEnv('OPENAI_API_KEY', 'k');
    expect(unavailableTargets([target('openai:gpt-5')])).toEqual([]);
  });

  it('a provider needs its package', () => {
    const message =
      'nowhere:m needs the package @ai-sdk/nowhere: npm install @ai-sdk/nowhere; in a bundle, pass `providers: { nowhere }`.';
    expect(unavailableTargets([target(model), target('nowhere:m')])).toEqual([{ target: 1, message }]);
  });

  it('a provider of your own has the model, or says why not', () => {
    expect(unavailableTargets([target('own:m', { own: provider(() => model) })])).toEqual([]);
    const refuse = provider(() => {
      throw new Error('no such thing');
    });
    expect(unavailableTargets([target('own:m', { own: refuse })])).toEqual([unavailable('no such thing')]);
    expect(unavailableTargets([target('own:m', { own: provider(() => null) })])).toEqual([
      unavailable('No such languageModel: own:m'),
    ]);
    expect(unavailableTargets([target('own:m', { own: {} as never })])).toEqual([
      unavailable('No such languageModel: own:m'),
    ]);
    // Its own provider counts before the known one.
    vi.stubEnv('OPENAI_API_KEY', '');
    expect(unavailableTargets([target('openai:m', { openai: provider(() => model) })])).toEqual([]);
  });

  it('what is no name is found out by the request', async () => {
    expect(unavailableTargets([target('gpt-5')])).toEqual([]);
    await expect(target('gpt-5').model()).rejects.toBeInstanceOf(NoSuchModelError);
  });
});

describe('P-1: a target loads its model', () => {
  it('once, and from its provider', async () => {
    let asked = 0;
    const own = provider((id) => {
      asked += 1;
      return id === 'm' ? model : null;
    });
    const one = target('own:m', { own });
    expect([await one.model(), await one.model(), asked]).toEqual([model, model, 1]);
    expect(await target(model).model()).toBe(model);
  });

  it('of an older specification, adapted', async () => {
    const old = { ...model, specificationVersion: 'v3', provider: 'own', modelId: 'old' };
    expect(await target(old).model()).toMatchObject({ specificationVersion: 'v4', modelId: 'old' });
  });

  it('of an installed package', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'k');
    expect(await target('openai:gpt-5').model()).toMatchObject({ modelId: 'gpt-5', specificationVersion: 'v4' });
  });

  it('not of an unknown provider', async () => {
    await expect(target('nowhere:m').model()).rejects.toThrow(
      `Unknown provider nowhere. Known: ${knownProviders.join(', ')} and the agent's providers.`,
    );
  });
});
