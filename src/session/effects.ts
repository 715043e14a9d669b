import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { CallName, FilePart, SessionEffectKinds, ToolOutcome } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { contextWindow, resultBytesIn, resultStub } from '../context/context-guard.ts';
import { RequestMeter } from '../context/request-meter.ts';
import { type Clock, sleep } from '../host/clock.ts';
import { within } from '../host/deadline.ts';
import type { Effects, Perform } from '../host/driver.ts';
import type { SessionHead } from '../journal/journal.ts';
import type { ScopeLog } from '../journal/scope-log.ts';
import { NamedFiles } from '../model/files.ts';
import { PromptBuilder, type PromptForms } from '../model/prompt.ts';
import { requestModel } from '../model/request-model.ts';
import type { Observer } from '../observe/observer.ts';
import { judgeReply } from '../report/format.ts';
import { readResultName } from '../tools/built-in/read-result.ts';
import { Catalog } from '../tools/catalog.ts';
import { clientAnswer } from '../tools/client-tool.ts';
import { Policies } from '../tools/policies.ts';
import { asItem } from '../tools/provider-tools.ts';
import { runTool } from '../tools/run-tool.ts';
import { Slots } from '../tools/slots.ts';
import { prepare } from './prepare.ts';
import type { SubAgents } from './sub-agents/sub-agents.ts';
import { SessionTools } from './tools.ts';

export type SessionEffectsParts = {
  agent: Agent;
  head: Pick<SessionHead, 'sessionId' | 'prompt'>;
  log: ScopeLog | null;
  observer: Observer;
  subAgents: SubAgents | null;
  clock: Clock;
  secrets: readonly string[];
  context: unknown;
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
  const { agent, head, log: written, observer, subAgents, clock, secrets, context } = parts;
  const { limits, format, definition } = agent;
  const { settings = {}, pricing = {}, toolPolicies = [] } = definition;
  const { conversation, keptResults, pastCalls, log } = observer.folds;
  const messages = () => conversation.messages;
  const userCode = { clock, timeoutMs: limits.toolTimeoutMs, onError: log.toolError.bind(log) };
  const policies = toolPolicies.length === 0 ? null : new Policies(toolPolicies, pastCalls, userCode, context);
  const catalog = new Catalog({ clock, checkTimeoutMs: limits.toolTimeoutMs, messages, policies, context });
  const sight = observer.sight.bind(observer);
  const tools = new SessionTools({ agent, catalog, subAgents, observer });
  const window = contextWindow(limits, settings.maxOutputTokens);
  const resultBytes = resultBytesIn(window, limits);
  const meter = window.windowTokens === null ? null : new RequestMeter(conversation, () => catalog.offered('all'));
  const files = new NamedFiles(definition.downloads ?? {});
  const forms: PromptForms = {
    stub: (callId) =>
      resultStub(callId, conversation.answerTokens.get(callId) ?? 0, catalog.get(readResultName) !== undefined),
    output: ({ toolName, output }) => {
      const { resultItem } = catalog.get(toolName) ?? {};
      return resultItem === undefined ? output : asItem(output, resultItem);
    },
    file: (part) => files.resolved(part),
  };
  const modelOptions = {
    targets: agent.targets,
    pricing,
    settings,
    timeoutMs: limits.modelTimeoutMs,
    idleTimeoutMs: limits.modelIdleTimeoutMs,
    replyBytes: limits.replyBytes,
    prompts: new PromptBuilder(conversation, forms),
    prepareFiles: (model: LanguageModelV4, signal: AbortSignal) => files.prepare(model, conversation.messages, signal),
    catalog,
    callIds: conversation.callIds,
    judgeReply: (text: string, files: readonly FilePart[], signal: AbortSignal) =>
      judgeReply(format, text, files, { ...userCode, signal }),
    meter,
    recordRequest: written === null ? null : written.sent.bind(written, messages),
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
  const open = (signal: AbortSignal) => tools.open(limits.prepareTimeoutMs, signal);
  const effects: Effects<keyof SessionEffectKinds> = {
    prepare: (_request, { signal }) =>
      prepare({ agent, prompt: head.prompt, context, open, meter, clock, secrets }, signal),
    model: (request, { signal }) => requestModel(modelOptions, request, signal),
    tool: (request, context) => runTool(toolOptions, request, context),
    // The decision is delivered from outside (`approve`); here it only times out.
    approval: async (_request, { signal, since }) => {
      const { approvalTimeoutMs: whole } = limits;
      const timeoutMs = whole === null ? null : Math.max(0, since + whole - clock.now());
      await within({ clock, timeoutMs, signal }, () => new Promise<never>(() => {}));
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
