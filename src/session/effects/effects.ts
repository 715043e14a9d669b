import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { CallName, FilePart, SessionEffectKinds, ToolOutcome } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import { resultBytesIn, resultStub } from '../../context/context-guard.ts';
import { RequestMeter } from '../../context/request-meter.ts';
import { type Clock, sleep } from '../../host/clock.ts';
import { waitOut } from '../../host/deadline.ts';
import type { Effects, Perform } from '../../host/driver.ts';
import type { SessionHead } from '../../journal/journal.ts';
import type { ScopeLog } from '../../journal/scope-log.ts';
import { NamedFiles } from '../../model/files.ts';
import { PromptBuilder, type PromptForms } from '../../model/prompt.ts';
import { requestModel } from '../../model/request-model.ts';
import type { Observer } from '../../observe/observer.ts';
import { judgeReply } from '../../report/format.ts';
import { readResultName } from '../../tools/built-in/read-result.ts';
import type { Catalog } from '../../tools/catalog.ts';
import { clientAnswer } from '../../tools/client-tool.ts';
import { asItem } from '../../tools/provider-tools.ts';
import { runTool } from '../../tools/run-tool.ts';
import { Slots } from '../../tools/slots.ts';
import type { SubAgents } from '../sub-agents/sub-agents.ts';
import { planTurn } from './plan.ts';
import { prepare } from './prepare.ts';
import { SessionTools } from './tools.ts';
import { turnTools } from './turn-tools.ts';

export type SessionEffectsParts = {
  agent: Agent;
  head: Pick<SessionHead, 'sessionId' | 'prompt' | 'input'>;
  log: ScopeLog | null;
  observer: Observer;
  subAgents: SubAgents | null;
  clock: Clock;
  secrets: readonly string[];
  /** The context for an agent of the session, by its name in `handoffs`. */
  contextFor: (speaker: string | null) => unknown;
};

/** The effects of one session: `perform` runs an effect; `tools` are opened and closed by some. */
export type SessionEffects = {
  perform: Perform;
  catalog: Catalog;
  open: (signal: AbortSignal) => Promise<string | null>;
  tools: SessionTools;
  /** Returns the outcome of a client-side tool's call. */
  answered: (call: CallName, answer: { output: unknown; isError: boolean }) => ToolOutcome;
};

/** Connects a session's effects to the world. State that outlives an effect is kept in the folds (D-1). */
export function sessionEffects(parts: SessionEffectsParts): SessionEffects {
  const { agent, head, log: written, observer, subAgents, clock, secrets, contextFor } = parts;
  const { limits, format, definition } = agent;
  const { conversation, keptResults, log } = observer.folds;
  const userCode = { clock, timeoutMs: limits.toolTimeoutMs, onError: log.toolError.bind(log) };
  const { catalog, settings, checks, context } = turnTools({ agent, observer, userCode, contextFor, secrets });
  const sight = observer.sight.bind(observer);
  const tools = new SessionTools({ agent, catalog, subAgents, observer, clock });
  const resultBytes = resultBytesIn(head.input.window, limits);
  const meter =
    head.input.window.windowTokens === null ? null : new RequestMeter(conversation, () => catalog.offered('all'));
  const files = new NamedFiles(definition.downloads ?? {});
  const forms: PromptForms = {
    stub: (callId) =>
      resultStub(callId, conversation.answerTokens.get(callId) ?? 0, catalog.get(readResultName) !== undefined),
    output: ({ toolName, output }) => asItem(output, catalog.get(toolName)?.resultItem),
    file: (part) => files.resolved(part),
  };
  const modelOptions = {
    targets: agent.targets,
    pricing: agent.pricing,
    settings,
    timeoutMs: limits.modelTimeoutMs,
    idleTimeoutMs: limits.modelIdleTimeoutMs,
    replyBytes: limits.replyBytes,
    prompts: new PromptBuilder(conversation, forms),
    prepareFiles: (model: LanguageModelV4, signal: AbortSignal) => files.prepare(model, conversation.messages, signal),
    catalog,
    callIds: conversation.callIds,
    checks,
    judgeReply: async (text: string, files: readonly FilePart[], signal: AbortSignal) =>
      checks.report(await judgeReply(format, text, files, { ...userCode, signal }), signal),
    meter,
    recordRequest: written === null ? null : written.sent.bind(written, () => conversation.messages),
    sight,
    clock,
    secrets,
  };
  const toolOptions = {
    ...userCode,
    sessionId: head.sessionId,
    context,
    catalog,
    resultBytes,
    clientToolTimeoutMs: limits.clientToolTimeoutMs,
    slots: new Slots(limits.maxConcurrentTools),
    sight,
    secrets,
    conversation,
    keptResults,
  };
  const planning = { ...parts, prompt: head.prompt, conversation, catalog, checks, window: head.input.window, meter };
  const open = tools.open.bind(tools, limits.prepareTimeoutMs);
  const effects: Effects<keyof SessionEffectKinds> = {
    prepare: (_request, { signal }) => prepare({ ...planning, open }, signal),
    plan: (request, { signal }) => planTurn(planning, request, signal),
    model: (request, { signal }) => requestModel(modelOptions, request, signal),
    tool: (request, context) => runTool(toolOptions, request, context),
    // The decision is delivered from outside (`approve`); here it only times out.
    approval: async (_request, { signal, since }) => {
      await waitOut({ clock, timeoutMs: limits.approvalTimeoutMs, signal }, since);
      return { decision: 'timeout', reason: null };
    },
    wait: async ({ dueAt, kind }, { signal }) => {
      if (kind === 'deadline') await sleep(clock, dueAt - clock.now(), signal);
      else await clock.sleepUntil(dueAt, signal);
      return {};
    },
    close: async () => {
      await tools.close();
      return {};
    },
  };
  return { perform: performer(effects), catalog, open, tools, answered: clientAnswer.bind(null, toolOptions) };
}

function performer(effects: Effects<keyof SessionEffectKinds>): Perform {
  return (effect, context) => {
    switch (effect.kind) {
      case 'prepare':
        return effects.prepare(effect.request, context);
      case 'plan':
        return effects.plan(effect.request, context);
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
        return Promise.reject(new Error(`unknown session effect: ${effect.kind}`));
    }
  };
}
