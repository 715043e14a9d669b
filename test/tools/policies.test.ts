import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { allow, deny, readBeforeWrite, requires, type ToolPolicy } from '../../src/index.ts';
import { callsIn, counters, lastText, report, runOverWire, tokensOf } from '../support/session.ts';

describe('policies', () => {
  const file = { inputSchema: z.object({ path: z.string() }), execute: ({ path }: { path: string }) => path };
  const tools = { read_file: file, write_file: file };
  const call = (name: string, path: string) => ({ calls: [{ name, input: { path } }] });

  it('all policies must allow a call; a denied call is answered with the reason and not executed', async () => {
    const { result } = await runOverWire({
      script: [
        call('write_file', 'a'),
        call('read_file', 'b'),
        call('write_file', 'a'),
        call('read_file', 'a'),
        call('write_file', 'a'),
        report(),
      ],
      definition: {
        tools,
        toolPolicies: [requires('write_file', { after: ['read_file'] }), readBeforeWrite()],
      },
    });
    expect(callsIn(result).map(({ name, slug, executed }) => [name, slug, executed])).toEqual([
      ['write_file', 'policy_denied', false],
      ['read_file', null, true],
      ['write_file', 'policy_denied', false],
      ['read_file', null, true],
      ['write_file', null, true],
      ['final_report', null, false],
    ]);
    expect(callsIn(result)[0]?.result.message).toContain('needs a successful call to read_file first');
    expect(callsIn(result)[2]?.result.message).toContain('with the same path');
    expect(result.counters.toolCalls.rejected).toEqual({ policy_denied: 2 });
  });

  it('receive the parsed input with defaults, unaffected by tools that mutate it', async () => {
    const open = {
      inputSchema: z.object({ path: z.string().trim().default('/') }),
      execute: (input: { path: string }) => {
        input.path = 'another';
        return 'done';
      },
    };
    const root: ToolPolicy = ({ input }) => (input.path === '/' ? deny('not the root') : allow);
    const { result } = await runOverWire({
      script: [
        { calls: [{ name: 'read_file', input: {} }] },
        { calls: [{ name: 'read_file', input: { path: ' / ' } }] },
        call('read_file', 'a'),
        call('write_file', 'another'),
        report(),
      ],
      definition: { tools: { read_file: open, write_file: file }, toolPolicies: [root, readBeforeWrite()] },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([
      'policy_denied',
      'policy_denied',
      null,
      'policy_denied',
      null,
    ]);
  });

  it('readBeforeWrite denies a write whose input lacks the path field', async () => {
    const loose = { inputSchema: z.object({ file: z.string() }), execute: () => 'done' };
    const { result } = await runOverWire({
      script: [
        { calls: [{ name: 'read_file', input: { file: 'a' } }] },
        { calls: [{ name: 'write_file', input: { file: 'b' } }] },
        report(),
      ],
      definition: { tools: { read_file: loose, write_file: loose }, toolPolicies: [readBeforeWrite()] },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, 'policy_denied', null]);
  });

  it('S-1: a slow policy or approval check denies the call without blaming its input', async () => {
    const slow = () => new Promise<never>((_, reject) => setTimeout(reject, 500, new Error('too late')));
    const slowly: ToolPolicy = () => new Promise((resolve) => setTimeout(resolve, 30, allow));
    const { result } = await runOverWire({
      script: [call('read_file', 'a'), call('asked', 'a'), report()],
      definition: {
        tools: { ...tools, asked: { ...file, needsApproval: slow } },
        toolPolicies: [slowly, slowly, slowly].map(
          (policy): ToolPolicy =>
            (asked, history, session) =>
              asked.name === 'read_file' ? policy(asked, history, session) : allow,
        ),
        limits: { toolTimeoutMs: 100 },
      },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual(['check_failed', 'check_failed', null]);
    expect(callsIn(result)[0]?.result.message).toContain('it did not decide in time');
    expect(callsIn(result)[1]?.result.message).toContain('the check did not finish in time');
  });

  it('a policy that throws denies the call, and calls in the same reply are not in the history yet', async () => {
    const broken = () => {
      throw new Error('boom');
    };
    const { result } = await runOverWire({
      script: [{ calls: [...call('read_file', 'a').calls, ...call('write_file', 'a').calls] }, report()],
      definition: { tools, toolPolicies: [(asked) => (asked.name === 'read_file' ? { allow: true } : broken())] },
    });
    expect(callsIn(result)[1]).toMatchObject({ executed: false, slug: 'check_failed' });
    expect(callsIn(result)[1]?.result.message).toContain('A policy failed on this call');
    const strict = await runOverWire({
      script: [{ calls: [...call('read_file', 'a').calls, ...call('write_file', 'a').calls] }, report()],
      definition: { tools, toolPolicies: [readBeforeWrite()] },
    });
    expect(callsIn(strict.result).map(({ slug }) => slug)).toEqual([null, 'policy_denied', null]);
  });

  it.each<[string, string, () => unknown]>([
    ['gives no verdict', 'check_failed', () => false],
    ['gives another verdict', 'check_failed', () => ({ allow: 'maybe' })],
    ['denies without a reason', 'policy_denied', () => ({ allow: false })],
    ['hangs', 'check_failed', () => new Promise(() => undefined)],
  ])('S-1: a call whose policy %s is not executed: %s', async (_how, slug, policy) => {
    const { result, requests } = await runOverWire({
      script: [call('read_file', 'a'), report()],
      definition: { tools, toolPolicies: [policy as never], limits: { toolTimeoutMs: 200 } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: false, slug });
    const isOurs = lastText(requests[1] ?? expect.fail()).includes('this was not your fault');
    expect(isOurs).toBe(slug === 'check_failed');
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        notices: 1,
        toolCalls: { requested: 2, answered: 2, acknowledged: 1, rejected: { [slug]: 1 } },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
        slugs: { [slug]: 1 },
      }),
    );
  });
});
