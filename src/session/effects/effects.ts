import type { CallName, Effect, ToolOutcome } from '../../../machines/index.ts';
import { allHave } from '../../agent/handoffs.ts';
import { resultBytesIn } from '../../context/context-guard.ts';
import { RequestMeter } from '../../context/request-meter.ts';
import type { EffectContext, Perform } from '../../host/driver.ts';
import type { ModelEffectOptions } from '../../model/model-effect.ts';
import { NamedFiles } from '../../model/prompt/files.ts';
import { PromptBuilder } from '../../model/prompt/prompt.ts';
import { requestModel } from '../../model/request-model.ts';
import type { Observer } from '../../observe/observer.ts';
import { judgeReply } from '../../report/format.ts';
import type { Catalog } from '../../tools/catalog.ts';
import { clientOutcome } from '../../tools/client-tool.ts';
import { Questions } from '../../tools/questions.ts';
import { runTool, type ToolEffectOptions } from '../../tools/running/run-tool.ts';
import { Slots } from '../../tools/running/slots.ts';
import { optionalBuiltIns } from '../../vocabulary/built-ins.ts';
import type { SubAgents } from '../sub-agents/sub-agents.ts';
import type { SessionIdentity } from '../wiring/identity.ts';
import type { Checks } from './checks.ts';
import { compact } from './compact.ts';
import { planTurn } from './plan.ts';
import { prepare } from './prepare.ts';
import { SessionForms } from './session-forms.ts';
import type { CompactParts } from './summary.ts';
import { SessionTools } from './tools.ts';
import { turnTools } from './turn-tools.ts';
import { untilDecided, waited } from './waits.ts';

/** The effects of one session. State that outlives an effect is kept in the folds (D-1). */
export class SessionEffects {
  readonly catalog: Catalog;
  readonly tools: SessionTools;
  private readonly identity: SessionIdentity;
  private readonly observer: Observer;
  private readonly checks: Checks;
  private readonly meter: RequestMeter;
  private readonly modelOptions: ModelEffectOptions;
  private readonly toolOptions: ToolEffectOptions;
  readonly questions = new Questions();

  constructor(identity: SessionIdentity, observer: Observer, subAgents: SubAgents | null) {
    this.identity = identity;
    this.observer = observer;
    const { agent, head, log: written, around, secrets } = identity;
    const { clock } = around;
    const { limits, format, definition } = agent;
    const { conversation, keptResults, log } = observer.folds;
    const userCode = { clock, timeoutMs: limits.toolTimeoutMs, onError: log.toolError.bind(log) };
    const { catalog, settings, checks, context, isReadable } = turnTools(identity, observer, userCode);
    const sight = observer.sight.bind(observer);
    const files = new NamedFiles(definition.downloads ?? {});
    this.catalog = catalog;
    this.checks = checks;
    this.tools = new SessionTools({ agent, catalog, subAgents, observer, clock });
    this.meter = new RequestMeter(conversation, () => catalog.offered('all'));
    this.modelOptions = {
      targets: agent.targets,
      pricing: agent.pricing,
      settings,
      timeoutMs: limits.modelTimeoutMs,
      idleTimeoutMs: limits.modelIdleTimeoutMs,
      replyBytes: limits.replyBytes,
      prompts: new PromptBuilder(conversation, new SessionForms(conversation, catalog, files, isReadable)),
      prepareFiles: (model, signal) => files.prepare(model, conversation.messages, signal),
      catalog,
      callIds: conversation.callIds,
      checks,
      judgeReply: async (text, files, signal) =>
        checks.report(await judgeReply(format, text, files, { ...userCode, signal }), signal),
      meter: this.meter,
      messages: () => conversation.messages,
      recordRequest: written === null ? null : written.sent.bind(written, () => conversation.messages),
      sight,
      clock,
      secrets,
    };
    this.toolOptions = {
      ...userCode,
      sessionId: head.sessionId,
      context,
      catalog,
      isReadable,
      resultBytes: resultBytesIn(head.input.window, limits),
      keptBytes: limits.keptResultBytes,
      clientToolTimeoutMs: limits.clientToolTimeoutMs,
      maxToolMs: limits.maxToolMs,
      slots: new Slots(limits.maxConcurrentTools),
      lease: written?.tree ?? null,
      ...{ sight, secrets, conversation, keptResults },
      ...{ questions: this.questions, followedCalls: observer.folds.followedCalls },
    };
  }

  perform(effect: Effect, context: EffectContext): ReturnType<Perform> {
    const { signal } = context;
    switch (effect.kind) {
      case 'prepare':
        return prepare({ ...this.planning, open: (own) => this.open(own) }, signal);
      case 'compact':
        return compact(this.compacting, effect.request, signal);
      case 'plan':
        return planTurn(this.planning, effect.request, signal);
      case 'model':
        return requestModel(this.modelOptions, effect.request, signal);
      case 'tool':
        return runTool(this.toolOptions, effect.request, context);
      case 'approval':
        return untilDecided(this.identity, context);
      case 'wait':
        return waited(this.identity.around, effect.request, context);
      case 'close':
        return this.tools.close().then(() => ({}));
      default:
        return Promise.reject(new Error(`unknown session effect: ${effect.kind}`));
    }
  }

  /** Opens the tools. Returns null, or why a server is missing. */
  open(signal: AbortSignal): Promise<string | null> {
    return this.tools.open(this.identity.agent.limits.prepareTimeoutMs, signal);
  }

  /** Returns the outcome of a client-side tool's call. */
  answered(call: CallName, answer: { output: unknown; isError: boolean }): ToolOutcome {
    return clientOutcome(this.toolOptions, call, answer);
  }

  private get compacting(): CompactParts {
    const { identity, meter, modelOptions: model, observer } = this;
    const { agent, head, around, secrets, contextFor, log } = identity;
    return {
      ...{ agent, contextFor, secrets, meter, model },
      conversation: observer.folds.conversation,
      window: head.input.window,
      isReadable: allHave(agent, optionalBuiltIns.readHistory),
      written: async () => await log?.tree.write(),
      clock: around.clock,
    };
  }

  private get planning() {
    const { identity, observer, catalog, checks, meter } = this;
    const { agent, head, around, secrets, contextFor } = identity;
    const { clock } = around;
    const session = { agent, prompt: head.prompt, window: head.input.window, contextFor, clock, secrets };
    return { ...session, conversation: observer.folds.conversation, observer, catalog, checks, meter };
  }
}
