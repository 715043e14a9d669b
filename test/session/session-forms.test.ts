import { expect, it } from 'vitest';
import type { Conversation } from '../../src/observe/conversation.ts';
import { SessionForms } from '../../src/session/effects/session-forms.ts';
import type { Catalog } from '../../src/tools/catalog.ts';

const part = (toolName: string) => ({
  ...{ type: 'tool-result' as const, toolCallId: 'c', toolName },
  output: { type: 'text' as const, value: 'So.' },
});
const formsOf = (tools: Record<string, object>) => {
  const files = { resolved: (given: object) => ({ ...given, isResolved: true }) };
  const conversation = { answerTokens: new Map([['c', 7_000]]) } as unknown as Conversation;
  const catalog = { get: (name: string) => tools[name] } as unknown as Catalog;
  return new SessionForms(conversation, catalog, files as never, tools.read_result !== undefined);
};

it('T-6: a result that is left out says how long it was, and how to read it if the model can', () => {
  const forms = formsOf({ read_result: {} });
  expect(forms.stub('c')).toMatch(/7,?000/);
  expect(forms.stub('c')).toContain('read_result');
  expect(forms.stub('other')).not.toMatch(/7,?000/);
  expect(formsOf({}).stub('c')).not.toContain('read_result');
});

it('C-2: a result has the form that its tool demands', () => {
  const forms = formsOf({ shell: { resultItem: (text: string) => ({ output: text }) } });
  expect(forms.output(part('shell'))).toEqual({ type: 'json', value: { output: 'So.' } });
  for (const name of ['look', 'absent']) expect(forms.output(part(name))).toEqual({ type: 'text', value: 'So.' });
});

it('a file goes out as it was resolved', () => {
  expect(formsOf({}).file({ mediaType: 'image/png', data: { type: 'data', data: '' } })).toMatchObject({
    isResolved: true,
  });
});
