import type { Counters, PlanOutcome, PlanRequest } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import { hasTool, voiceOf } from '../../agent/handoffs.ts';
import { redact } from '../../agent/redact.ts';
import { checkedChanges } from '../../agent/turn-changes.ts';
import type { RequestMeter } from '../../context/request-meter.ts';
import { messageOf } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { inTime, type Limits } from '../../host/deadline.ts';
import type { Conversation } from '../../observe/conversation.ts';
import { builtInNames } from '../../tools/built-in/list.ts';
import type { Catalog } from '../../tools/catalog.ts';
import { madeInstructions } from './prepare.ts';

export type PlanParts = {
  agent: Agent;
  prompt: string | null;
  context: unknown;
  conversation: Conversation;
  observer: { readonly counters: Counters };
  /** The instructions of the agents that had the conversation. */
  made: Map<string, string | null>;
  catalog: Catalog;
  window: Parameters<typeof checkedChanges>[1]['window'];
  meter: RequestMeter | null;
  clock: Clock;
  secrets: readonly string[];
};

/** Runs the plan effect (T-7): plans the turn with the `prepareTurn` of the agent that has the conversation (T-8). */
export async function planTurn(
  parts: PlanParts,
  { turn, isLastTurn, target: current }: PlanRequest,
  signal: AbortSignal,
): Promise<PlanOutcome> {
  const { agent, conversation, catalog, context, window, meter, clock } = parts;
  const voice = voiceOf(agent, conversation.speaker);
  const { prepareTurn } = voice.definition;
  const limits = { clock, timeoutMs: agent.limits.prepareTimeoutMs, signal };
  const late = `it did not return within ${limits.timeoutMs} ms`;
  let doing = 'prepareTurn()';
  try {
    const available = catalog.names().filter((name) => hasTool(voice, name));
    const indices = agent.targets.flatMap(({ name }, index) => (voice.targets.includes(name) ? [index] : []));
    if (indices.length === 0) throw new Error(`this session permits none of the models of ${voice.name}`);
    const targets = new Map(indices.map((index) => [agent.targets[index]?.name ?? '', index]));
    const returned =
      prepareTurn &&
      (await inTime(limits, late, (own) => {
        const { messages } = conversation;
        const counters = structuredClone(parts.observer.counters);
        return prepareTurn({ turn, isLastTurn, messages, context, counters, signal: own });
      }));
    const changes = checkedChanges(returned, { tools: new Set(available), targets, window });
    doing = 'instructions()';
    const own = voice.name === null ? null : await instructionsOf(parts, voice.name, limits);
    const isKept = (name: string) => changes.tools?.includes(name) ?? true;
    const tools = available.filter((name) => builtInNames.includes(name) || isKept(name));
    const isNarrow = changes.tools !== null || agent.voices.length > 1;
    const plan = {
      speaker: voice.name,
      // A target that succeeded is kept (P-2).
      targets: changes.targets ?? (agent.voices.length > 1 ? startingWith(current, indices) : null),
      instructions: changes.instructions ?? own,
      tools: isNarrow ? tools : null,
      settings: changes.settings,
    };
    const growth = meter?.growth(plan.instructions, catalog.offeredOf(plan.tools)) ?? 0;
    return { ok: true, plan, growth };
  } catch (error) {
    return {
      ok: false,
      slug: 'turn_not_prepared',
      message: redact(`${doing} failed before turn ${turn}: ${messageOf(error)}`, parts.secrets),
    };
  }
}

/** Returns the instructions of an agent that the conversation was handed to, made when it first speaks. */
async function instructionsOf({ agent, prompt, context, made }: PlanParts, name: string, limits: Limits) {
  if (!made.has(name)) {
    const { instructions = '' } = voiceOf(agent, name).definition;
    made.set(name, await madeInstructions(instructions, { prompt, context }, limits));
  }
  return made.get(name) ?? null;
}

function startingWith(current: number, indices: readonly number[]): number[] {
  const at = Math.max(0, indices.indexOf(current));
  return [...indices.slice(at), ...indices.slice(0, at)];
}
