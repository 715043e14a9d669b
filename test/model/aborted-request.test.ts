import { expect, it } from 'vitest';
import { defineAgent, runSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, report } from '../support/session.ts';

/** Aborts so many microtasks later. */
async function abortAfter(ticks: number, controller: AbortController): Promise<void> {
  for (let tick = 0; tick < ticks; tick += 1) await null;
  controller.abort('enough');
}

it.each(Array.from({ length: 16 }, (_, ticks) => ticks))(
  'D-2: no request goes out after an abort, even to a model that ignores its signal (%i microtasks)',
  async (ticks) => {
    const controller = new AbortController();
    const model = rehearsalModel([report()]);
    const sent: boolean[] = [];
    const deaf: typeof model = {
      ...model,
      doStream: ({ abortSignal, ...options }) => {
        sent.push(abortSignal?.aborted === true);
        return model.doStream(options);
      },
    };
    const result = await runSession(defineAgent({ name: 'a', models: [deaf] }), {
      prompt: 'Go.',
      logger: false,
      signal: controller.signal,
      onEvent: ({ type }) => {
        if (type === 'attempt.started') void abortAfter(ticks, controller);
      },
    });
    expect(sent.filter((isAborted) => isAborted)).toEqual([]);
    expect(result.status).toBe('aborted');
    expect(result.counters).toEqual(counters({ turns: 1, attempts: 1, requests: 1, slugs: { aborted: 1 } }));
  },
);
