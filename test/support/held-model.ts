import { APICallError } from '@ai-sdk/provider';
import type { Session } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { until } from './journaled.ts';

/** A model that answers a request with a report once it is let go, or fails if it is `down`. `seen`: what is asked at once. */
export function heldModel({ isDown = false, modelId = 'held' } = {}) {
  const seen = { open: 0, most: 0, order: [] as string[] };
  const held: (() => void)[] = [];
  const error = { message: 'down', url: 'http://x.test', requestBodyValues: {}, statusCode: 500 };
  const model = rehearsalModel(
    async ({ prompt }) => {
      seen.open += 1;
      seen.most = Math.max(seen.most, seen.open);
      seen.order.push(JSON.stringify(prompt.at(-1)).match(/task \w+/)?.[0] ?? '');
      await new Promise<void>((resolve) => held.push(resolve));
      seen.open -= 1;
      if (isDown) return { throws: new APICallError(error) };
      return { calls: [{ name: 'final_report', input: { content: 'done' } }] };
    },
    { modelId },
  );
  const letGo = async () => {
    await until(() => held.length > 0);
    held.shift()?.();
  };
  return { model, seen, letGo, held };
}

/** The results of sessions, which keep every promise. */
export async function endsOf(sessions: readonly Session[]) {
  const all = await Promise.all(sessions.map(({ result }) => result));
  for (const one of all) assertInvariants(one);
  return all;
}
