import { tool } from 'ai';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { allow, defineAgent, deny, resumeSession, runSession, sqliteJournal, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { report } from '../support/session.ts';

const contextSchema = z.object({ userId: z.string(), isAdmin: z.boolean().default(false) });
type Context = z.infer<typeof contextSchema>;
const inputSchema = z.object({ q: z.string() });
const logger = false as const;

const call = (name: string) => ({ calls: [{ name, input: { q: 'x' } }] });

describe('the context of a session', () => {
  it('is given to tools, approvals, policies, instructions, sub-agents and listeners, and to no model', async () => {
    const seen: Record<string, unknown> = {};
    const note = (name: string, context: unknown) => {
      seen[name] = context;
    };
    const child = defineAgent({
      name: 'child',
      models: [rehearsalModel([call('inner'), report()])],
      tools: { inner: tool({ inputSchema, execute: (_, { context }) => note('inner', context) }) },
    });
    const model = rehearsalModel([
      call('plain'),
      call('own'),
      call('part'),
      call('forbidden'),
      { calls: [{ name: 'child', input: { prompt: 'Go.', reason: 'It can.' } }] },
      report(),
    ]);
    const agent = defineAgent({
      name: 'contextual',
      models: [model],
      contextSchema,
      instructions: ({ context }) => {
        expectTypeOf(context).toEqualTypeOf<Context>();
        return `You serve ${context.userId}.`;
      },
      tools: {
        plain: (_, { context }) => note('plain', context),
        own: tool({
          inputSchema,
          needsApproval: (_, { context }) => {
            seen.approval = context;
            return false;
          },
          execute: (_, { context }) => note('own', context),
        }),
        part: tool({
          inputSchema,
          contextSchema: z.object({ userId: z.string() }),
          execute: (_, { context }) => {
            expectTypeOf(context).toEqualTypeOf<{ userId: string }>();
            seen.part = context;
          },
        }),
        forbidden: tool({ inputSchema, execute: () => 'never' }),
      },
      toolPolicies: [
        ({ name }, _, { context }) => {
          expectTypeOf(context).toEqualTypeOf<Context>();
          return name !== 'forbidden' || context.isAdmin ? allow : deny(`${context.userId} is no admin.`);
        },
      ],
      agents: { child },
    });
    const context = { userId: 'ada', isAdmin: false, database: () => 'a handle' };
    const heard = new Set<unknown>();
    const result = await runSession(agent, {
      prompt: 'Go.',
      context,
      logger,
      onEvent: (_, session) => void heard.add(session.context),
    });
    expect(result.success).toBe(true);
    const checked = { userId: 'ada', isAdmin: false };
    expect(seen).toEqual({
      plain: checked,
      own: checked,
      approval: checked,
      part: { userId: 'ada' },
      // An agent without a schema gets the context as it is.
      inner: context,
    });
    expect([...heard]).toEqual([checked]);
    expect(result.turns[3]?.attempts[0]?.calls[0]).toMatchObject({ slug: 'policy_denied', executed: false });
    expect(JSON.stringify(model.requests.map(({ prompt }) => prompt))).toContain('You serve ada.');
    expect(JSON.stringify(model.requests[0]?.prompt)).not.toContain('isAdmin');
    expect(result.counters).toMatchObject({
      turns: 5,
      attempts: 6,
      requests: 6,
      failedAttempts: 1,
      notices: 1,
      toolCalls: { requested: 6, executed: 4 },
    });
  });

  it('that does not fit is refused before anything runs: of the agent, of a tool, of a sub-agent', () => {
    const model = rehearsalModel([report()]);
    const strict = defineAgent({ name: 'strict', models: [model], contextSchema });
    const tooled = defineAgent({
      name: 'tooled',
      models: [model],
      tools: { part: tool({ inputSchema, contextSchema: z.object({ team: z.string() }), execute: () => 1 }) },
    });
    const above = defineAgent({ name: 'above', models: [model], agents: { strict } });
    const started = (agent: Parameters<typeof startSession>[0], context?: unknown) => () =>
      startSession(agent, { prompt: 'Go.', logger, context });
    expect(started(strict)).toThrow('`context (for the agent strict)` is required: what its schema says.');
    expect(started(strict, { userId: 1 })).toThrow(/context \(for the agent strict\).*userId/s);
    expect(started(tooled, { team: 1 })).toThrow(/context \(for the tool part\).*team/s);
    expect(started(above, {})).toThrow(/context \(for the agent strict\)/);
    const slow = defineAgent({
      name: 'slow',
      models: [model],
      contextSchema: z.object({}).refine(() => Promise.resolve(true)),
    });
    expect(started(slow, {})).toThrow(/context \(for the agent slow\)/);
    expect(model.requests).toHaveLength(0);
    expect(() => defineAgent({ name: 'bad', models: [model], contextSchema: 5 as never })).toThrow('`contextSchema`');
  });

  it('D-3: it is no part of the journal, so a session is resumed with it', async () => {
    const journal = sqliteJournal(freshFile());
    const seen: unknown[] = [];
    const work = tool({
      inputSchema,
      needsApproval: true,
      execute: (_, { context }) => void seen.push(context),
    });
    const model = rehearsalModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? report() : call('work'),
    );
    const agent = defineAgent({ name: 'kept', models: [model], contextSchema, tools: { work } });
    const session = startSession(agent, { prompt: 'Go.', context: { userId: 'kim', isAdmin: true }, journal, logger });
    for await (const { type } of session.events) if (type === 'tool.approvalRequested') break;
    await session.suspend();
    const { sessionId } = session;
    expect(JSON.stringify(await journal.read(sessionId))).not.toContain('kim');
    const without = { journal, sessionId, logger } as Parameters<typeof resumeSession<string, Context>>[1];
    await expect(resumeSession(agent, without)).rejects.toThrow('`context (for the agent kept)`');
    const again = await resumeSession(agent, { journal, sessionId, logger, context: { userId: 'bob', isAdmin: true } });
    again.approve('call-1-0', { approved: true });
    expect((await again.result).success).toBe(true);
    expect(seen).toEqual([{ userId: 'bob', isAdmin: true }]);
    await journal.close();
  });
});
