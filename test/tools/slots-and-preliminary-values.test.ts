import { expect, it } from 'vitest';
import { Slots } from '../../src/shared/slots.ts';
import { running } from '../support/running-tool.ts';

it('C-1: a tool that limits itself runs without a slot: the tools that it runs need one', async () => {
  const slots = new Slots(1);
  await slots.takeSlot(AbortSignal.timeout(1_000));
  const { outcome } = running(() => 'done', { timeoutMs: null }, { slots });
  expect((await outcome).result.value).toBe('done');
});

it.each([null, undefined, 0, ''])('C-1: a tool may return %j', async (value) => {
  const { outcome } = running(() => value);
  expect(await outcome).toMatchObject({ slug: null, result: { success: true } });
});

it('O-1: a preliminary value is shown with its structure, or as its text', async () => {
  const values = ['on its way', null, { at: 1 }, [2], 3, { success: false, message: 'not yet' }];
  const { outcome, sights } = running(async function* () {
    yield* values;
    return undefined;
  });
  await outcome;
  expect(sights.map((one) => (one as { output: unknown }).output)).toMatchObject([
    { type: 'text', value: 'on its way' },
    { type: 'text' },
    { type: 'json', value: { at: 1 } },
    { type: 'json', value: [2] },
    { type: 'json', value: 3 },
    { type: 'error-text', value: 'not yet' },
  ]);
});

it('D-3: a session that lost its lease announces and runs no tool', async () => {
  const done: string[] = [];
  const lease = {
    isHeld: false,
    renew: async () => {
      done.push('asked');
      lost.controller.abort(new Error('another process has it'));
    },
  };
  const tool = { announce: () => void done.push('announced') };
  const lost = running(() => void done.push('ran'), tool as never, { lease });
  expect((await lost.outcome).result.success).toBe(false);
  expect(done).toEqual(['asked']);
});
