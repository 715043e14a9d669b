import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rehearsalModel } from '../../src/testing/index.ts';

const model = rehearsalModel([{}], { provider: 'groq.chat', modelId: 'm' });

let targets: typeof import('../../src/model/targets.ts');
beforeEach(async () => {
  vi.resetModules();
  targets = await import('../../src/model/targets.ts');
});
afterEach(() => {
  vi.doUnmock('@ai-sdk/groq');
});
const loaded = (reference: string, providers: object = {}) =>
  new targets.Target('name', reference as never, providers as never).model();

describe('P-2: a model of a package', () => {
  it('is made by its provider, which sends one request an attempt', async () => {
    const given: unknown[] = [];
    const languageModel = (id: string) => {
      given.push(id);
      return model;
    };
    for (const provider of [{ languageModel }, Object.assign(() => null, { languageModel })]) {
      vi.resetModules();
      targets = await import('../../src/model/targets.ts');
      vi.doMock('@ai-sdk/groq', () => ({
        createGroq: (options: object) => {
          given.push(Object.keys(options));
          return provider;
        },
      }));
      expect(await loaded('groq:m')).toBe(model);
    }
    expect(given).toEqual([['fetch'], 'm', ['fetch'], 'm']);
  });

  it.each<[string, object]>([
    ['makes nothing', { createGroq: () => null }],
    ['makes a text', { createGroq: () => 'groq' }],
    ['makes a provider of another time', { createGroq: () => ({ chat: () => model }) }],
    ['has another entry', { createGrok: () => ({ languageModel: () => model }), createGroq: undefined }],
    ['has one that is no function', { createGroq: { languageModel: () => model } }],
  ])('that %s is not available', async (_, exported) => {
    vi.doMock('@ai-sdk/groq', () => exported);
    await expect(loaded('groq:m')).rejects.toMatchObject({
      name: 'AI_NoSuchModelError',
      message: 'The package @ai-sdk/groq exports no supported version of provider groq.',
      ...{ modelId: 'groq:m', modelType: 'languageModel' },
    });
  });

  it('that is not installed is not available, and says what to do', async () => {
    vi.doMock('@ai-sdk/groq', () => {
      throw new Error('not here');
    });
    await expect(loaded('groq:m')).rejects.toMatchObject({
      name: 'AI_NoSuchModelError',
      message: expect.stringMatching(
        /^Cannot load @ai-sdk\/groq \(.+\), which groq:m needs: npm install @ai-sdk\/groq; in a/s,
      ),
      ...{ modelId: 'groq:m', modelType: 'languageModel' },
    });
  });

  it.each(['m', 'no name: at all'])('with the name %j is of no provider', async (name) => {
    await expect(loaded(name)).rejects.toMatchObject({
      name: 'AI_NoSuchModelError',
      ...{ modelId: name, modelType: 'languageModel' },
    });
  });
});

describe('T-8: whether two targets are the same', () => {
  const target = (reference: unknown, providers: object = {}) =>
    new targets.Target('name', reference as never, providers as never);
  const [own, other] = [{ languageModel: () => model }, { languageModel: () => model }];

  it('depends on the provider of a name, and not on others', () => {
    expect(target('own:m', { own }).isSame(target('own:m', { own, '': other }))).toBe(true);
    expect(target('own:m', { own }).isSame(target('own:m', { own: other }))).toBe(false);
    expect(target('m', { '': own }).isSame(target('m', { '': other }))).toBe(false);
    expect(target(model, { own }).isSame(target(model, { own: other }))).toBe(true);
    expect(target(model).isSame(target(rehearsalModel([{}])))).toBe(false);
  });
});
