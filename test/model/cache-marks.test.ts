import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type InputMessage, replaySession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { report, runOverWire } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

const hour = { type: 'ephemeral', ttl: '1h' };
const ownMark = { providerOptions: { anthropic: { cacheControl: hour } } };

/** Every mark of a request, by where it stands. */
function marksOf(body: object): string[] {
  const found: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'cache_control') found.push(`${path} ${JSON.stringify(inner)}`);
      else visit(inner, `${path}/${key}`);
    }
  };
  visit(body, '');
  return found;
}

const sent = async (parts: Partial<Parameters<typeof runOverWire>[0]>) => {
  const journal = new MemoryJournal();
  const { requests, result } = await runOverWire({
    wire: 'anthropic',
    script: [searchCall, {}, report()],
    ...parts,
    options: { ...parts.options, journal },
    definition: { tools: { search }, instructions: 'Be brief.', ...parts.definition },
  });
  const found = requests.map(({ body }) => marksOf(body));
  // The journal says how many there were.
  const replayed = await replaySession(journal, result.sessionId);
  expect(replayed.requests.map(({ marks }) => marks)).toEqual(found.map(({ length }) => length));
  return found;
};

describe('N-3: cache marks', () => {
  it('the system prompt and the last lasting message are marked, never the notice', async () => {
    const plain = '{"type":"ephemeral"}';
    const [first, second, third] = await sent({});
    expect(first).toEqual([`/system/0 ${plain}`, `/messages/0/content/0 ${plain}`]);
    expect(second).toEqual([`/system/0 ${plain}`, `/messages/2/content/0 ${plain}`]);
    // The notice is the second block of the last message.
    expect(third).toEqual(second);
  });

  it("the mark of the user's call settings, with its ttl, stands where Pawl marks", async () => {
    const marks = await sent({ definition: { settings: ownMark } });
    for (const request of marks)
      expect(request.map((mark) => mark.split(' ')[1])).toEqual(Array(2).fill(JSON.stringify(hour)));
  });

  it("the user's marks on messages stay as they are, and there are never more than four", async () => {
    const given = (count: number): InputMessage[] =>
      Array.from({ length: 4 }, (_, index) => ({
        role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: [{ type: 'text' as const, text: `part ${index}`, ...(index < count && ownMark) }],
      }));
    for (const count of [1, 2, 3, 4]) {
      const options = { messages: [...given(count), { role: 'user' as const, content: 'Go.' }] };
      const [first = []] = await sent({ options });
      expect(first.filter((mark) => mark.includes('1h'))).toHaveLength(count);
      expect(first).toHaveLength(Math.min(4, count + 2));
    }
  });

  it("a mark of the user's own on the last message is not replaced", async () => {
    const options = { messages: [{ role: 'user' as const, content: 'Go.', ...ownMark }] };
    const [first = []] = await sent({ options });
    expect(first.map((mark) => mark.split(' ')[1])).toEqual(['{"type":"ephemeral"}', JSON.stringify(hour)]);
  });

  it("the user's marks on tools count", async () => {
    const marked = (name: string) =>
      tool({ description: name, inputSchema: z.object({}), execute: () => name, ...ownMark });
    const tools = { search, one: marked('one'), two: marked('two'), three: marked('three') };
    const [first = []] = await sent({ definition: { tools } });
    expect(first).toHaveLength(4);
  });

  it('promptCaching off leaves no mark', async () => {
    expect((await sent({ definition: { settings: { ...ownMark, promptCaching: 'off' } } })).flat()).toEqual([]);
  });
});
