import { describe, expect, it } from 'vitest';
import type { Json, ToolOutput } from '../../machines/index.ts';
import { asItem, providerTool } from '../../src/tools/provider-tools.ts';

describe('C-6: tools that a provider defines', () => {
  it('what is known of them', () => {
    expect(providerTool('openai.web_search')).toEqual({});
    expect(providerTool('toString').takesText).toBeUndefined();
    expect(providerTool('openai.custom').takesText).toBe(true);
    expect(providerTool('openai.computer').refusal?.({})).toBe('its failures have no form that the API takes');
  });

  it.each<[string, Record<string, unknown>, boolean]>([
    ['openai.shell', {}, false],
    ['openai.shell', { environment: null }, false],
    ['openai.shell', { environment: { type: 'local' } }, false],
    ['openai.shell', { environment: { type: 'container_auto' } }, true],
    ['openai.shell', { environment: { type: 'containerReference' } }, true],
    ['openai.shell', { environment: { type: 'my-container' } }, false],
    ['openai.tool_search', {}, true],
    ['openai.tool_search', { execution: 'server' }, true],
    ['openai.tool_search', { execution: 'client' }, false],
  ])('%s with %j is run by its provider: %s', (id, args, isRemote) => {
    expect(providerTool(id).isRemote?.(args)).toBe(isRemote);
  });

  it.each<[unknown, boolean]>([
    [undefined, true],
    ['never', true],
    ['always', false],
    [{ never: { toolNames: ['look'] } }, false],
  ])('a server that a provider connects may be had with approval %j: %s', (requireApproval, may) => {
    expect(providerTool('openai.mcp').refusal?.({ requireApproval })).toBe(
      may
        ? null
        : "its approvals are the provider's; set `requireApproval: 'never'`, or connect the server by `mcpServers`",
    );
  });

  it.each<[string, Json, Json]>([
    ['openai.local_shell', { output: 'x' }, { output: 'x' }],
    [
      'openai.shell',
      { output: [{ stdout: 'x', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] },
      { output: [{ stdout: '', stderr: 'x', outcome: { type: 'exit', exitCode: 1 } }] },
    ],
    ['openai.apply_patch', { status: 'completed', output: 'x' }, { status: 'failed', output: 'x' }],
    ['openai.tool_search', { tools: [] }, { tools: [] }],
  ])('%s has its own form for a result and a failure', (id, result, failure) => {
    expect(providerTool(id).resultItem?.('x', false)).toEqual(result);
    expect(providerTool(id).resultItem?.('x', true)).toEqual(failure);
  });
});

describe('C-6: the answer to a call takes that form, whatever became of it', () => {
  const resultItem = (text: string, failed: boolean) => ({ text, failed });
  const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: '' } } as const;

  it.each<[ToolOutput, Json]>([
    [{ type: 'json', value: [1] }, [1]],
    [
      { type: 'text', value: 'x' },
      { text: 'x', failed: false },
    ],
    [
      { type: 'error-text', value: 'x' },
      { text: 'x', failed: true },
    ],
    [
      { type: 'error-json', value: { a: 1 } },
      { text: '{"a":1}', failed: true },
    ],
    [{ type: 'execution-denied' }, { text: 'Denied.', failed: true }],
    [
      { type: 'execution-denied', reason: 'no' },
      { text: 'Denied: no', failed: true },
    ],
    [
      { type: 'content', value: [{ type: 'text', text: 'x' }, file] },
      { text: 'x\n[image/png]', failed: false },
    ],
  ])('%j', (output, value) => {
    expect(asItem(output, resultItem)).toEqual({ type: 'json', value });
    expect(asItem(output, undefined)).toBe(output);
  });
});
