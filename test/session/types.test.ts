import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  type AcceptedReport,
  defineAgent,
  runSession,
  type Session,
  type SessionEvent,
  type SyntheticReport,
  startSession,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const models = [rehearsalModel([])];
const schema = z.object({ shelf: z.string() });

describe('the types', () => {
  it('F-5: the content of a report has the type of its schema once the session has succeeded', () => {
    const agent = defineAgent({ name: 'typed', models, report: { format: 'json', schema } });
    const check = async () => {
      const result = await runSession(agent, { prompt: 'Go.' });
      expectTypeOf(result.report.content).toEqualTypeOf<{ shelf: string } | string>();
      if (result.success) {
        expectTypeOf(result.report).toEqualTypeOf<AcceptedReport<{ shelf: string }>>();
        expectTypeOf(result.report.content).toEqualTypeOf<{ shelf: string }>();
        expectTypeOf(result.status).toEqualTypeOf<'succeeded'>();
        expectTypeOf(result.failure).toEqualTypeOf<undefined>();
      } else {
        expectTypeOf(result.report).toEqualTypeOf<SyntheticReport>();
        expectTypeOf(result.failure.slugs).toExtend<readonly string[]>();
        expectTypeOf(result.status).toEqualTypeOf<'failed' | 'aborted' | 'suspended'>();
      }
    };
    expectTypeOf(check).returns.resolves.toBeVoid();
  });

  it('F-5: a text report is a string, whatever the outcome', () => {
    const agent = defineAgent({ name: 'plain', models });
    expectTypeOf(startSession<string, unknown>).returns.toEqualTypeOf<Session<string>>();
    const check = async () => (await runSession(agent, { prompt: 'Go.' })).report.content;
    expectTypeOf(check).returns.resolves.toBeString();
  });

  it('S-6: events are told apart by their type', () => {
    type Delta = Extract<SessionEvent, { type: 'model.delta' }>;
    expectTypeOf<Delta['delta']>().toBeString();
    expectTypeOf<Extract<SessionEvent, { type: 'attempt.failed' }>['slugs']>().toExtend<readonly string[]>();
  });

  it('a definition with a mistake does not compile', () => {
    // @ts-expect-error `model` is no option
    expectTypeOf(defineAgent).toBeCallableWith({ name: 'wrong', model: models[0] });
    // @ts-expect-error a prompt is a text
    expectTypeOf(runSession).toBeCallableWith(defineAgent({ name: 'right', models }), { prompt: 1 });
  });
});
