import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { definitionSchema } from '../../src/agent/definition.ts';
import { defineAgent, PawlError, type SessionOptions, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const leaf = fc.constantFrom<unknown>(
  ...[null, undefined, 7, -1, Number.NaN, 1n, '', 'x', true, [], {}, () => 1, Symbol('s'), new Date(), /x/, new Map()],
  ...[z.string(), z.object({ a: z.string() }), Promise.resolve(1), new Error('e')],
);
const names = fc.constantFrom(
  ...[
    'name',
    'schema',
    'format',
    'type',
    'execute',
    'inputSchema',
    'url',
    'command',
    'args',
    'model',
    'id',
    'validate',
  ],
  ...[
    'description',
    'needsApproval',
    'headers',
    'env',
    'maxTurns',
    'tools',
    'models',
    'input',
    'limits',
    'run',
    'role',
  ],
  ...['content', 'text', 'maxRequests', 'reduce', 'initial', '__proto__', 'then'],
);
/** Values of any shape, with the names that options have. */
const anything = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  ),
})).value;
const models = [rehearsalModel([report()])];

/** Makes a call, which may be refused with one of our errors alone. */
function tried(call: () => unknown): void {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError);
  }
}

it('whatever an option of a definition holds, it is accepted or refused with a PawlError', () => {
  const option = fc.constantFrom(...Object.keys(definitionSchema.shape));
  const value = fc.oneof(anything, fc.dictionary(fc.string({ maxLength: 5 }), anything, { maxKeys: 2 }));
  fc.assert(
    fc.property(option, value, (name, given) => {
      tried(() => defineAgent({ name: 'a', models, [name]: given } as never));
    }),
    { numRuns: 3_000 },
  );
});

it('whatever an option of a session holds, the session starts or is refused with a PawlError', async () => {
  const agent = defineAgent({ name: 'a', models });
  const option = fc.constantFrom<keyof SessionOptions>(
    ...([
      'prompt',
      'messages',
      'sessionId',
      'metadata',
      'budget',
      'journal',
      'signal',
      'telemetry',
      'slices',
    ] as never[]),
    ...(['models', 'tools', 'limits', 'instructions', 'approve', 'context', 'random', 'onEvent'] as never[]),
  );
  await fc.assert(
    fc.asyncProperty(option, anything, async (name, given) => {
      const started: { result: Promise<unknown>; abort(): void }[] = [];
      tried(() => started.push(startSession(agent, { prompt: 'Go.', logger: false, [name]: given } as never)));
      for (const session of started) {
        session.abort();
        await session.result;
      }
    }),
    { numRuns: 1_000 },
  );
});
