/**
 * `node bench/deltas.ts`: the CPU of a delta of a reply, with a reader of `session.events`, as a multiple of just reading
 * the stream. Also a part of `npm run bench`.
 */
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { defineAgent, startSession } from '../src/index.ts';
import { rehearsalModel } from '../src/testing/index.ts';

/** A model whose one reply has so many deltas of text before the report. */
export function speakingModel(deltas: number): LanguageModelV4 {
  const model = rehearsalModel([{ calls: [{ name: 'final_report', input: { content: 'Done.' } }] }]);
  const said: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: 'said' },
    ...Array.from({ length: deltas }, () => ({ type: 'text-delta' as const, id: 'said', delta: 'word ' })),
    { type: 'text-end', id: 'said' },
  ];
  return {
    ...model,
    async doStream(options) {
      const { stream } = await model.doStream(options);
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          async start(controller) {
            for (const part of said) controller.enqueue(part);
            for await (const part of stream) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}

/** Runs a session whose reply has so many deltas, and reads its events. */
export async function readDeltas(count: number): Promise<void> {
  const session = startSession(defineAgent({ name: 'bench', models: [speakingModel(count)] }), {
    prompt: 'Go.',
    logger: false,
  });
  let seen = 0;
  for await (const event of session.events) if (event.type === 'model.delta' && event.kind === 'text') seen += 1;
  if (seen !== count) throw new Error(`${seen} of ${count} deltas were seen`);
}

async function readBare(count: number): Promise<void> {
  const { stream } = await speakingModel(count).doStream({ prompt: [] });
  let text = '';
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if (value.type === 'text-delta') text += value.delta;
  }
  if (text.length !== count * 'word '.length) throw new Error('the text is not whole');
}

async function cpuUs(work: () => Promise<void>): Promise<number> {
  const begun = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begun);
  return user + system;
}

export async function deltasBench(quick: boolean): Promise<void> {
  const count = 20_000;
  const times: Record<'bare' | 'read', number[]> = { bare: [], read: [] };
  for (let round = 0; round < (quick ? 5 : 15); round += 1) {
    times.bare.push(await cpuUs(() => readBare(count)));
    times.read.push(await cpuUs(() => readDeltas(count)));
  }
  const median = (values: number[]) => (values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN) / count;
  const [bare, read] = [median(times.bare), median(times.read)];
  process.stdout.write(
    `a delta with a reader of session.events: ${read.toFixed(2)} us of CPU, ${(read / bare).toFixed(2)} x bare\n`,
  );
}

if (process.argv[1] === import.meta.filename) await deltasBench(process.argv.includes('--quick'));
