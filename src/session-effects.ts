import { estimateMessageTokens } from './context/tokens.ts';
import type { Agent } from './define-agent.ts';
import type { Clock } from './host/clock.ts';
import type { Effects } from './host/memory.ts';
import { PromptBuilder } from './model/prompt.ts';
import { requestModel } from './model/request-model.ts';
import type { Observer } from './observe/observer.ts';
import { redact } from './observe/redact.ts';
import { ReportValidator } from './report/format.ts';
import type { Approvals } from './tools/approvals.ts';
import { Catalog } from './tools/catalog.ts';
import { runTool, Slots } from './tools/run-tool.ts';

export type SessionEffectsParts = {
  agent: Agent;
  prompt: string | null;
  observer: Observer;
  approvals: Approvals;
  clock: Clock;
  secrets: readonly string[];
};

/** How the effects of one session act on the world: what is wired to what, and nothing more. */
export function sessionEffects({ agent, prompt, observer, approvals, clock, secrets }: SessionEffectsParts): Effects {
  const { limits, format, definition } = agent;
  const { settings = {}, pricing = {}, instructions = null } = definition;
  const { conversation } = observer;
  const messages = () => conversation.messages;
  const catalog = new Catalog(agent.tools, { checkTimeoutMs: limits.toolTimeoutMs, messages });
  const validator = new ReportValidator(format);
  const sight = observer.sight.bind(observer);
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
    validator,
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
    slots: new Slots(limits.maxConcurrentTools),
    sight,
    onError: observer.toolError.bind(observer),
    redact: (text: string) => redact(text, secrets),
    messages,
  };
  return {
    prepare: async () => {
      await catalog.open();
      systemPrompt = typeof instructions === 'function' ? await instructions({ prompt }) : instructions;
      const sizes = measuresContext ? messages().map(estimateMessageTokens) : [];
      return { ok: true, contextTokens: sizes.reduce((sum, size) => sum + size, 0) };
    },
    model: (request, { signal }) => requestModel(modelOptions, request, signal),
    tool: (request, { signal }) => runTool(toolOptions, request, signal),
    approval: ({ callId }, { signal }) => approvals.wait(callId, limits.approvalTimeoutMs, signal),
    wait: async ({ dueAt }, { signal }) => {
      await clock.sleepUntil(dueAt, signal);
      return {};
    },
    close: async () => ({}),
  };
}
