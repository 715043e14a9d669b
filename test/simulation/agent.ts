import { tool } from 'ai';
import { z } from 'zod';
import {
  type Agent,
  type AgentDefinition,
  allow,
  defineAgent,
  deny,
  type McpServerConfig,
  type PrepareTurn,
  type SessionBudget,
  type ToolPolicy,
  type TurnChanges,
} from '../../src/index.ts';
import { servedOver } from './http-server.ts';
import { type ModelParts, type Sent, secret, simulatedModel } from './model.ts';
import { serverTools, simulatedServer } from './server.ts';
import type { Life, World } from './world.ts';

/** How an agent is made; the same in each life. */
export type Plan = ReturnType<typeof planOf>;

/** A tool that began, and what became of it. */
export type Begun = {
  agent: string;
  name: string;
  callId: string;
  signal: AbortSignal | undefined;
  hasEnded: boolean;
  life: Life;
};

export type Witness = {
  sent: Sent[];
  begun: Begun[];
  /** A tool of an agent begins. */
  onBegin: (agent: string) => void;
  /** A part of a reply is sent to an agent. */
  onPart: (agent: string) => void;
};

export function planOf({ choices, processes }: World) {
  return {
    limits: {
      maxTurns: 1 + choices.below(8),
      maxRetries: 1 + choices.below(4),
      maxToolCallsPerTurn: 3 - choices.below(3),
      maxConcurrentTools: 1 + choices.below(3),
      toolTimeoutMs: 5_000,
      modelTimeoutMs: 60_000,
      modelIdleTimeoutMs: 10_000,
      approvalTimeoutMs: choices.pick([60_000, 1]),
      clientToolTimeoutMs: 60_000,
      replyBytes: choices.pick([1_000_000, 4_000]),
    },
    targets: 1 + choices.below(3),
    finish: choices.pick(['report', 'text'] as const),
    hasChild: choices.chance(40),
    prepares: choices.weighed({ nothing: 6, turns: 2, 'turns, and breaks': 1 }),
    checks: choices.weighed({ nothing: 6, reports: 1, replies: 1 }),
    policy: choices.weighed({ none: 5, allows: 1, denies: 1, throws: 1, 'takes its time': 1 }),
    budget: choices.pick<SessionBudget>([
      {},
      {},
      {},
      {},
      { requests: 3 },
      { tokens: 40 },
      { wallClockMs: 8_000 },
      { requests: 9 },
    ]),
    compacts: choices.weighed({ never: 6, drop: 2, summary: 2 }),
    server: choices.weighed({ none: processes === null ? 6 : 0, required: 2, optional: 1 }),
  };
}

const schema = z.object({ prompt: z.string(), reason: z.string() });

const toolNames = ['quick', 'slow', 'failing', 'deaf', 'guarded', 'steps', 'outside'] as const;

/** The agent of a plan in one life: its models and tools do nothing more once that is over. */
export function agentOf(plan: Plan, world: World, witness: Witness): Agent {
  const { limits, compacts } = plan;
  // A summary takes the place of an attempt, of which there must be two.
  const compaction = compacts === 'never' || limits.maxRetries === 1 ? null : compacts;
  const helper = plan.hasChild ? { helper: agentWith('helper', plan, world, witness) } : {};
  return defineAgent({
    ...definitionOf('simulated', plan, world, witness, [...Object.keys(helper), ...serverToolsOf(plan)]),
    mcpServers: serversOf(plan, world, witness),
    finish: plan.finish,
    limits,
    agents: helper,
    ...(compaction !== null && { compact: { by: compaction, keep: 1 } }),
    ...ownCode(plan, world),
  });
}

const serverToolsOf = ({ server }: Plan) => (server === 'none' ? [] : serverTools);

function serversOf({ server }: Plan, world: World, witness: Witness): Record<string, McpServerConfig> {
  if (server === 'none') return {};
  const { wire, processes } = world;
  const connection =
    processes?.serve(world, witness) ??
    (wire === null ? { transport: simulatedServer(world, witness) } : servedOver(wire, world, witness));
  return { box: { ...connection, optional: server === 'optional' } };
}

function agentWith(name: string, plan: Plan, world: World, witness: Witness): Agent {
  const limits = { ...plan.limits, maxTurns: 2, maxRetries: 2 };
  return defineAgent({ ...definitionOf(name, plan, world, witness, []), description: 'Helps.', limits });
}

function definitionOf(name: string, plan: Plan, world: World, witness: Witness, others: readonly string[]) {
  // Sub-agents and servers have the most to do with each other, so models call them more often.
  const tools = [...toolNames, ...others, ...others, ...others];
  const { life } = world;
  const finish = name === 'simulated' ? plan.finish : 'report';
  const { onPart } = witness;
  const sent = (request: Sent) => {
    onPart(name);
    witness.sent.push(request);
  };
  const models = Array.from({ length: plan.targets }, (_, index) =>
    modelOf({ world, life, agent: name, id: `m${index}`, finish, tools, sent, onPart }),
  );
  const toolPolicies = plan.policy === 'none' ? [] : [policyOf(plan.policy, world)];
  return { name, models, tools: toolsOf(name, world, witness), toolPolicies, secrets: [secret] };
}

const modelOf = (parts: ModelParts) => parts.world.wire?.model(parts) ?? simulatedModel(parts);

/** The application's own code: what prepares its turns and checks its replies. */
function ownCode({ prepares, checks }: Plan, world: World): Partial<AgentDefinition> {
  const { choices, life } = world;
  const prepareTurn: PrepareTurn = async () => {
    await life.turn('a turn is prepared');
    if (prepares !== 'turns' && choices.chance(10)) throw new Error(`the preparation broke ${secret}`);
    return choices.pick<TurnChanges>([{}, { instructions: 'Be brief.' }, { activeTools: ['quick', 'slow'] }]);
  };
  const check = async (): Promise<{ allow: true } | { allow: false; reason: string }> => {
    await life.turn('a check decides');
    if (choices.chance(5)) throw new Error(`the check broke ${secret}`);
    return choices.chance(10) ? { allow: false, reason: 'Not like this.' } : { allow: true };
  };
  return {
    ...(prepares !== 'nothing' && { prepareTurn }),
    ...(checks === 'reports' && { checkReport: check }),
    ...(checks === 'replies' && { checkReply: check }),
  };
}

function policyOf(kind: Plan['policy'], world: World): ToolPolicy {
  const { life } = world;
  return async () => {
    if (kind === 'takes its time') await life.turn('a policy decides');
    if (kind === 'throws' && world.choices.chance(30)) throw new Error(`the policy broke ${secret}`);
    return kind === 'denies' && world.choices.chance(30) ? deny('Not now.') : allow;
  };
}

function toolsOf(agent: string, world: World, witness: Witness) {
  const { life } = world;
  const watched = (name: string, body: (signal: AbortSignal | undefined) => unknown, needsApproval = false) =>
    tool({
      description: name,
      inputSchema: schema,
      needsApproval,
      execute: async (_input: { prompt: string }, { abortSignal: signal, toolCallId: callId }) => {
        const own: Begun = { agent, name, callId, signal, hasEnded: false, life };
        witness.begun.push(own);
        witness.onBegin(agent);
        try {
          return await body(signal);
        } finally {
          own.hasEnded = true;
        }
      },
    });
  const heard = (signal: AbortSignal | undefined) =>
    new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
  return {
    quick: watched('quick', () => `done, with ${secret}`),
    slow: watched('slow', (signal) =>
      Promise.race([life.turn('the tool slow ends').then(() => 'done'), heard(signal)]),
    ),
    failing: watched('failing', async () => {
      await life.turn('the tool failing fails');
      throw new Error(`it failed with ${secret}`);
    }),
    deaf: watched('deaf', () => life.turn('the tool deaf ends').then(() => 'too late')),
    guarded: watched('guarded', () => life.turn('the tool guarded ends').then(() => 'done'), true),
    outside: tool({ description: 'outside', inputSchema: schema }),
    steps: tool({
      description: 'steps',
      inputSchema: schema,
      execute: async function* () {
        yield `first, ${secret}`;
        await life.turn('the tool steps yields again');
        yield 'last';
      },
    }),
  };
}
