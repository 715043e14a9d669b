import { expect, it } from 'vitest';
import { allow, deny } from '../../src/index.ts';
import { run } from '../support/session.ts';
import { agentOf, finish, modelOf } from '../support/untyped-model.ts';

it('C-6 G-2: a reason that quotes half a character goes out as valid text, and no warning quotes what is withheld', async () => {
  const said = (delta: string) => ({ type: 'text-delta', id: '0', delta });
  const model = modelOf([said('Ask Ada 😀'), { type: 'brand-new', text: 'Ask Ada.' }, finish], [said('So.'), finish]);
  const notices: string[] = [];
  const { doStream } = model;
  model.doStream = (options) => {
    const content = options.prompt.at(-1)?.content ?? [];
    notices.push(
      ...[content].flat().flatMap((part) => (typeof part === 'object' && part.type === 'text' ? part.text : [])),
    );
    return doStream(options);
  };
  const checkReply = ({ text }: { text: string }) => (text.includes('Ada') ? deny(`Not "${text.slice(0, 9)}"`) : allow);
  const { result, events } = await run({ agent: agentOf(model, { finish: 'text', checkReply }) });
  expect(result.report.content).toBe('So.');
  expect(notices[1]).toContain('Not "Ask Ada');
  expect(notices[1]?.isWellFormed()).toBe(true);
  expect(JSON.stringify(events)).not.toContain('Ask Ada.');
  expect(result.counters).toMatchObject({ attempts: 2, failedAttempts: 1, slugs: { reply_denied: 1 } });
});
