import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { report, runOverWire, tokensOf } from '../support/session.ts';

describe('requests on the wire', () => {
  it('C-6: references in a report schema resolve within the tool that carries it', async () => {
    type Tree = { name: string; children: Tree[] };
    const tree: z.ZodType<Tree> = z.object({
      name: z.string(),
      get children() {
        return z.array(tree);
      },
    });
    const { requests } = await runOverWire({
      script: [{ calls: [{ name: 'final_report', input: { content: { name: 'a', children: [] } } }] }],
      definition: { report: { format: 'json', schema: tree } },
    });
    const tools = JSON.stringify(requests[0]?.body.tools);
    const [{ function: declared }] = JSON.parse(tools);
    for (const [, pointer = ''] of tools.matchAll(/"\$ref":"#([^"]*)"/g)) {
      const keys = pointer.split('/').slice(1);
      const target = keys.reduce((at, key) => at?.[key], declared.parameters);
      expect([pointer, typeof target]).toEqual([pointer, 'object']);
    }
    expect(tools).toContain('$ref');
  });

  it('N-1: for an agent that finishes with text, the notice omits the final report', async () => {
    const { requests } = await runOverWire({ script: [{}, { text: 'Hello.' }], definition: { finish: 'text' } });
    expect(JSON.stringify(requests[1]?.body.messages.at(-1))).not.toContain('final report');
  });

  it('steering that arrives too late for a request is still added to the conversation', async () => {
    const { result } = await runOverWire({
      script: [report()],
      during: (event, session) => {
        if (event.type === 'attempt.replied') session.steer('And be brief.');
      },
    });
    expect(JSON.stringify(result.conversation.at(-1))).toContain('And be brief.');
  });

  it('an aborted session reports the reason for the abort', async () => {
    const { result, lines } = await runOverWire({
      script: [{ hang: true }],
      during: (event, session) => {
        if (event.type === 'attempt.started') session.abort('the user went away');
      },
    });
    expect(result.failure?.detail).toBe('the user went away');
    expect(lines.find(({ event }) => event === 'session.aborted')).toMatchObject({
      level: 30,
      detail: 'the user went away',
    });
    expect(result.counters.tokens).toEqual(tokensOf(0));
  });
});
