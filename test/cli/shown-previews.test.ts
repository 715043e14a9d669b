import { expect, it } from 'vitest';
import type { Asked } from '../../src/cli/terminal/approver.ts';
import { previewOf } from '../../src/cli/terminal/preview.ts';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const out = { isTTY: false } as unknown as NodeJS.WriteStream;
const withPreview = (preview: () => string | Promise<string>) => ({
  work: { inputSchema: { type: 'object' } as never, execute: () => 1, preview },
});
const editor = (said: string) =>
  defineAgent({ name: 'editor', models: [rehearsalModel([])], tools: withPreview(() => said) });
const asked = (path: string[]) => ({ name: 'work', input: {}, path, agent: 'editor' }) as unknown as Asked;

it('what is shown of a call is of the sub-agent that makes it, of several with one name', async () => {
  const agent = defineAgent({
    name: 'root',
    models: [rehearsalModel([])],
    agents: { client: editor('of the client'), server: editor('of the server') },
  });
  const shown = (...path: string[]) => previewOf(agent, asked(path), out, new AbortController().signal);
  expect(await shown('server')).toEqual(['of the server']);
  expect(await shown('client')).toEqual(['of the client']);
  expect(await shown()).toEqual([]);
  expect(await shown('nobody')).toEqual([]);
});

it('a preview that never comes ends with its call, and one that fails says so', async () => {
  const withdrawn = new AbortController();
  const never = defineAgent({
    ...{ name: 'editor', models: [rehearsalModel([])] },
    tools: withPreview(() => new Promise<string>(() => {})),
  });
  const shown = previewOf(never, asked([]), out, withdrawn.signal);
  withdrawn.abort();
  expect(await shown).toEqual(['What it would do is not known: its tool did not say.']);
  const failing = defineAgent({
    ...{ name: 'editor', models: [rehearsalModel([])] },
    tools: withPreview(() => Promise.reject(new Error('no such file'))),
  });
  expect(await previewOf(failing, asked([]), out, new AbortController().signal)).toEqual([
    'What it would do cannot be shown: no such file',
  ]);
});
