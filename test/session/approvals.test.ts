import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, report, run } from '../support/session.ts';

const call = (name: string, input: unknown = {}) => ({ calls: [{ name, input }] });

const rehearsed = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
  defineAgent({ name: 'hard', models: [rehearsalModel(replies)], ...over });

describe('user code', () => {
  it('D-2: an approval given the moment it is requested counts', async () => {
    const guarded = { inputSchema: z.object({ path: z.string() }), needsApproval: true, execute: () => 'done' };
    const { result, events } = await run({
      agent: rehearsed([call('guarded', { path: '/' }), report()], { tools: { guarded } }),
      during: (event, session) => {
        if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
      },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: null });
    expect(events.find((event) => event.type === 'tool.approvalRequested')).toMatchObject({ input: { path: '/' } });
  });
});
