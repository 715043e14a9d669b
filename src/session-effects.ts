import type { SessionEffectKinds } from '../machines/index.ts';
import type { Agent } from './agent-definition.ts';
import { estimateMessageTokens } from './context/tokens.ts';
import { messageOf } from './errors.ts';
import type { Clock } from './host/clock.ts';
import type { Effects, Perform } from './host/memory.ts';
import { PromptBuilder } from './model/prompt.ts';
import { requestModel } from './model/request-model.ts';
import type { Observer } from './observe/observer.ts';
import { redact } from './observe/redact.ts';
import { ReportValidator } from './report/format.ts';
import { timely } from './timely.ts';
import type { Approvals } from './tools/approvals.ts';
import { Catalog } from './tools/catalog.ts';
import { Policies } from './tools/policies.ts';
import { ResultStore } from './tools/result-store.ts';
import { runTool, Slots } from './tools/run-tool.ts';
import { SessionTools } from './tools/session-tools.ts';
import type { SubAgents } from './tools/sub-agent.ts';

export type SessionEffectsParts = {
  agent: Agent;
  prompt: string | null;
  observer: Observer;
  approvals: Approvals;
  subAgents: SubAgents | null;
  clock: Clock;
  secrets: readonly string[];
};

/** How the effects of one session act on the world: what is wired to what, and nothing more. */
export function sessionEffects(parts: SessionEffectsParts): { perform: Perform; close: () => Promise<void> } {
  const { agent, prompt, observer, approvals, subAgents, clock, secrets } = parts;
  const { limits, format, definition } = agent;
  const { settings = {}, pricing = {}, instructions = null, builtIns = {}, toolPolicies = [] } = definition;
  const { conversation } = observer;
  const messages = () => conversation.messages;
  const policies = toolPolicies.length === 0 ? null : new Policies(toolPolicies, limits.toolTimeoutMs);
  if (policies !== null) observer.onAnswer = policies.answered.bind(policies);
  const catalog = new Catalog({ checkTimeoutMs: limits.toolTimeoutMs, messages, policies });
  const keepsResults = definition.resultStore === true || builtIns.readResult === true;
  const store = keepsResults ? new ResultStore(limits.toolResultBytes) : null;
  const sight = observer.sight.bind(observer);
  const tools = new SessionTools({
    agent,
    catalog,
    subAgents,
    store,
    observer,
  });
  const measuresContext = limits.contextWindow !== null;
  let systemPrompt: string | null = null;
  const modelOptions = {
    targets: agent.targets,
    pricing,
    settings,
    timeoutMs: limits.modelTimeoutMs,
    idleTimeoutMs: limits.modelIdleTimeoutMs,
    prompts: new PromptBuilder(conversation),
    instructions: () => systemPrompt,
    catalog,
    callIds: conversation.callIds,
    validator: new ReportValidator(format, limits.toolTimeoutMs),
    measuresContext,
    sight,
    wantsDeltas: () => observer.wantsDeltas,
    now: () => clock.now(),
    secrets,
  };
  const toolOptions = {
    catalog,
    timeoutMs: limits.toolTimeoutMs,
    resultBytes: limits.toolResultBytes,
    keep: store === null ? null : store.keep.bind(store),
    slots: new Slots(limits.maxConcurrentTools),
    sight,
    onError: observer.toolError.bind(observer),
    redact: (text: string) => redact(text, secrets),
    messages,
  };
  const effects: Effects<keyof SessionEffectKinds> = {
    prepare: async (_request, { signal }) => {
      const unprepared = (slug: 'tools_unavailable' | 'internal_error', message: string) => {
        return { ok: false as const, slug, message: redact(message, secrets) };
      };
      const missing = await tools.open(limits.prepareTimeoutMs, signal);
      if (missing !== null) return unprepared('tools_unavailable', missing);
      try {
        systemPrompt = await madeInstructions(instructions, prompt, limits.prepareTimeoutMs, signal);
      } catch (error) {
        return unprepared('internal_error', `the instructions could not be made: ${messageOf(error)}`);
      }
      const sizes = measuresContext ? messages().map(estimateMessageTokens) : [];
      const answerTokens = [...conversation.answerTokens.values()].reduce((sum, size) => sum + size, 0);
      return { ok: true, contextTokens: sizes.reduce((sum, size) => sum + size, 0), answerTokens };
    },
    model: (request, { signal }) => requestModel(modelOptions, request, signal),
    tool: (request, { signal }) => runTool(toolOptions, request, signal),
    approval: ({ callId }, { signal }) => approvals.wait(callId, limits.approvalTimeoutMs, signal),
    wait: async ({ dueAt }, { signal }) => {
      await clock.sleepUntil(dueAt, signal);
      return {};
    },
    close: async () => {
      await tools.close();
      return {};
    },
  };
  return { perform: performer(effects), close: () => tools.close() };
}

function performer(effects: Effects<keyof SessionEffectKinds>): Perform {
  return (effect, context) => {
    switch (effect.kind) {
      case 'prepare':
        return effects.prepare(effect.request, context);
      case 'model':
        return effects.model(effect.request, context);
      case 'tool':
        return effects.tool(effect.request, context);
      case 'approval':
        return effects.approval(effect.request, context);
      case 'wait':
        return effects.wait(effect.request, context);
      case 'close':
        return effects.close(effect.request, context);
      default:
        return Promise.reject(new Error(`a session has no effect ${effect.kind}`));
    }
  };
}

async function madeInstructions(
  instructions: Agent['definition']['instructions'] | null,
  prompt: string | null,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string | null> {
  if (typeof instructions !== 'function') return instructions ?? null;
  const made: unknown = await timely(timeoutMs, instructions({ prompt }), `not made within ${timeoutMs} ms`, signal);
  if (typeof made !== 'string') throw new Error(`a string is allowed, and they are ${typeof made}`);
  return made;
}
