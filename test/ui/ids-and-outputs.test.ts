import { describe, expect, it } from 'vitest';
import type { ToolOutput } from '../../machines/index.ts';
import { approvalIdOf, callOfApproval, callOfPart, innerPartId, isInnerPart } from '../../src/ui/call-reference.ts';
import { isAsShown, outputIn, readMetadata } from '../../src/ui/model-output.ts';

const odd = { sessionId: 'a/b c', callId: 'd:é/%' };

describe('the ids of calls on a page', () => {
  it('name the session and the call, whatever is in their own ids', () => {
    expect(approvalIdOf({ sessionId: 's', callId: 'c' })).toBe('s/c');
    expect(callOfApproval(approvalIdOf(odd))).toEqual(odd);
    expect(innerPartId({ sessionId: 's', callId: 'c' })).toBe('inner:s/c');
    expect(callOfPart(innerPartId(odd), 'other')).toEqual(odd);
  });

  it.each(['', 's', 's/c/d', 's/%E0%A4%A', '%ZZ/c'])('%j is the id of none', (id) => {
    expect(callOfApproval(id)).toBeNull();
  });

  it('a part of the conversation stands for a call of the session itself', () => {
    expect(callOfPart('c', 's')).toEqual({ sessionId: 's', callId: 'c' });
    expect(callOfPart('s2/c', 's')).toEqual({ sessionId: 's', callId: 's2/c' });
    expect(callOfPart('inner:odd', 's')).toEqual({ sessionId: 's', callId: 'inner:odd' });
    expect([isInnerPart('inner:s/c'), isInnerPart('c'), isInnerPart('cinner:')]).toEqual([true, false, false]);
  });
});

describe('what the model read of an answer', () => {
  it.each<[ToolOutput, boolean, unknown, boolean]>([
    [{ type: 'error-text', value: 'no' }, true, 'no', true],
    [{ type: 'error-text', value: 'no' }, true, 'yes', false],
    [{ type: 'text', value: 'no' }, true, 'no', false],
    [{ type: 'error-text', value: 'no' }, false, 'no', false],
    [{ type: 'json', value: { a: [1] } }, false, { a: [1] }, true],
    [{ type: 'json', value: { a: [1] } }, false, { a: [2] }, false],
    [{ type: 'text', value: 'so' }, false, 'so', true],
    [{ type: 'text', value: 'so' }, false, 'sso', false],
    [{ type: 'content', value: [] }, false, [], false],
  ])('%j, where the page shows (an error: %s) %j, is that: %s', (output, isError, shown, is) => {
    expect(isAsShown(output, { isError, shown })).toBe(is);
  });

  it('is in the metadata of an answer if the page shows something else', () => {
    const output: ToolOutput = { type: 'text', value: 'so' };
    expect(readMetadata(output)).toEqual({ pawl: { output } });
    expect(outputIn(readMetadata(output))).toEqual(output);
  });

  it.each([
    undefined,
    null,
    'pawl',
    7,
    {},
    { pawl: null },
    { pawl: 'output' },
    { pawl: {} },
    { pawl: { output: null } },
    { pawl: { output: { value: 'x' } } },
    { pawl: { output: 'text' } },
  ])('is not found in %j', (metadata) => expect(outputIn(metadata)).toBeNull());
});
