import type { Counters, Message, PlanOutcome, PlanRequest } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import { hasTool, voiceOf } from '../../agent/handoffs.ts';
import { checkedChanges, type TurnPreparation } from '../../agent/turn-changes.ts';
import type { RequestMeter } from '../../context/request-meter.ts';
import type { Clock } from '../../host/clock.ts';
import { inTime, type TaskLimits } from '../../host/deadline.ts';
import { messageOf } from '../../input/errors.ts';
import type { Conversation } from '../../observe/conversation.ts';
import { redact } from '../../secrets/redact.ts';
import type { Catalog } from '../../tools/catalog.ts';
import { builtInNames } from '../../vocabulary/built-ins.ts';
import { madeInstructions } from './prepare.ts';

export type PlanParts = {
  agent: Agent;
  prompt: string | null;
  /** The context for an agent of the session. */
  contextFor: (speaker: string | null) => unknown;
  conversation: Conversation;
  observer: { readonly counters: Counters };
  catalog: Catalog;
  window: Parameters<typeof checkedChanges>[1]['window'];
  meter: RequestMeter;
  clock: Clock;
  secrets: readonly string[];
};

/** Runs the plan effect (T-7): plans the turn with the `prepareTurn` of the agent that has the conversation (T-8). */
export async function planTurn(
  parts: PlanParts,
  { turn, isLastTurn, target: current }: PlanRequest,
  signal: AbortSignal,
): Promise<PlanOutcome> {
  const { agent, conversation, catalog, contextFor, window, meter, clock } = parts;
  const voice = voiceOf(agent, conversation.speaker);
  const { prepareTurn } = voice.definition;
  const limits = { clock, timeoutMs: agent.limits.prepareTimeoutMs, signal };
  const late = `it did not return within ${limits.timeoutMs} ms`;
  let doing = 'The choice of a model';
  try {
    const available = catalog.all().flatMap((tool) => (hasTool(voice, tool) ? [tool.name] : []));
    const targets = new Map(
      [...voice.targets].flatMap(([own, name]) => {
        const index = agent.targets.findIndex((target) => target.name === name);
        return index === -1 ? [] : [[own, index]];
      }),
    );
    if (targets.size === 0) throw new Error(`this session permits none of the models of ${voice.name ?? agent.name}`);
    doing = 'prepareTurn()';
    const returned =
      prepareTurn &&
      (await inTime(limits, late, (own) => {
        const told = { turn, isLastTurn, context: contextFor(voice.name), signal: own };
        return prepareTurn(preparation(conversation, parts.observer, told));
      }));
    const changes = checkedChanges(returned, { tools: new Set(available), targets, window });
    doing = 'instructions()';
    const own = voice.name === null ? null : await instructionsOf(parts, voice.name, limits);
    const isNew = conversation.plan?.speaker !== voice.name;
    const order = [...targets.values()];
    const isKept = (name: string) => changes.tools?.includes(name) ?? true;
    const tools = available.filter((name) => builtInNames.includes(name) || isKept(name));
    const isNarrow = changes.tools !== null || agent.voices.length > 1;
    // What a provider runs by itself is permitted by being offered.
    const isOffered = (name: string) => tools.includes(name) || catalog.get(name)?.isRemote !== true;
    const offered = changes.offersThese ? tools : available.filter(isOffered);
    const isWhole = offered.length === catalog.all().length;
    const plan = {
      speaker: voice.name,
      // A target that succeeded is kept (P-2), but not by another agent.
      targets: changes.targets ?? (agent.voices.length > 1 ? (isNew ? order : startingWith(current, order)) : null),
      once: changes.targets !== null,
      own,
      instructions: changes.instructions,
      tools: isNarrow ? tools : null,
      offered: isNarrow && !isWhole ? offered : null,
      settings: changes.settings,
      // On the last turn the model decides (B-5b).
      ...(changes.toolChoice !== null && !isLastTurn && { toolChoice: changes.toolChoice }),
    };
    const growth = meter.growth(plan.instructions ?? own, catalog.offeredOf(plan.offered));
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
async function instructionsOf(
  { agent, prompt, contextFor, conversation }: PlanParts,
  name: string,
  limits: TaskLimits,
): Promise<string | null> {
  const { plan } = conversation;
  if (plan?.speaker === name) return plan.own;
  const { instructions = '' } = voiceOf(agent, name).definition;
  return madeInstructions(instructions, { prompt: conversation.promptOr(prompt), context: contextFor(name) }, limits);
}

/** What `prepareTurn` is told. The messages are a copy, made when it looks at them, so that it cannot change them. */
function preparation(
  { messages }: Conversation,
  { counters }: { counters: Counters },
  turn: Omit<TurnPreparation, 'messages' | 'counters'>,
): TurnPreparation {
  let copy: readonly Message[] | null = null;
  return {
    ...turn,
    counters: structuredClone(counters),
    get messages() {
      copy ??= structuredClone(messages);
      return copy;
    },
  };
}

function startingWith(current: number, indices: readonly number[]): number[] {
  const at = Math.max(0, indices.indexOf(current));
  return [...indices.slice(at), ...indices.slice(0, at)];
}
