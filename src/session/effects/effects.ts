import type { CallName, Effect, PrepareOutcome, ToolOutcome } from '../../../machines/index.ts';
import { allHave } from '../../agent/handoffs.ts';
import { RequestMeter } from '../../context/request-meter.ts';
import type { EffectContext, Perform } from '../../host/driver.ts';
import type { ModelEffectOptions } from '../../model/model-effect.ts';
import { requestModel } from '../../model/request-model.ts';
import type { Observer } from '../../observe/observer.ts';
import type { Catalog } from '../../tools/catalog.ts';
import { clientOutcome } from '../../tools/client-tool.ts';
import { Questions } from '../../tools/questions.ts';
import { runTool, type ToolEffectOptions } from '../../tools/running/run-tool.ts';
import { optionalBuiltIns } from '../../vocabulary/built-ins.ts';
import type { SubAgents } from '../sub-agents/sub-agents.ts';
import type { SessionIdentity } from '../wiring/identity.ts';
import { Admissions } from './admissions.ts';
import { BudgetDraws } from './budget-draws.ts';
import type { Checks } from './checks.ts';
import { compact } from './compact.ts';
import { modelOptions, toolOptions } from './effect-options.ts';
import { planTurn } from './plan.ts';
import { prepare } from './prepare.ts';
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
  readonly admissions: Admissions;

  constructor(identity: SessionIdentity, observer: Observer, subAgents: SubAgents | null) {
    this.identity = identity;
    this.observer = observer;
    const { agent, head, around } = identity;
    const { clock } = around;
    const { conversation, log } = observer.folds;
    const userCode = { clock, timeoutMs: agent.limits.toolTimeoutMs, onError: log.toolError.bind(log) };
    const own = turnTools(identity, observer, userCode);
    const { catalog } = own;
    this.catalog = catalog;
    this.checks = own.checks;
    const onUnwritten = (error: unknown) => observer.userCodeFailed('journal', error);
    const draws = new BudgetDraws({
      ...{ pricing: agent.pricing, account: around.sharedBudget, sessionId: head.sessionId, log: identity.log },
      onUnwritten,
    });
    this.admissions = new Admissions({ agent, around, draws, onUnshared: onUnwritten });
    this.tools = new SessionTools({ agent, catalog, subAgents, observer, clock });
    this.meter = new RequestMeter(conversation, () => catalog.offered('all'));
    this.modelOptions = modelOptions(identity, observer, own, this.meter, userCode);
    this.toolOptions = toolOptions(identity, observer, own, { questions: this.questions, tools: this.tools, userCode });
  }

  perform(effect: Effect, context: EffectContext): ReturnType<Perform> {
    const { signal } = context;
    switch (effect.kind) {
      case 'prepare':
        return prepare({ ...this.planning, open: (own) => this.open(own) }, signal).then((outcome) =>
          this.prepared(outcome),
        );
      case 'admission':
        return this.admissions.admit(effect.request, signal);
      case 'compact':
        return compact(this.compacting, effect.request, signal);
      case 'plan':
        return planTurn(this.planning, effect.request, signal);
      case 'model':
        return this.admissions.send(effect.request.target, (pass) =>
          requestModel(this.modelOptions, effect.request, signal, pass),
        );
      case 'tool':
        return runTool(this.toolOptions, effect.request, context);
      case 'approval':
        return untilDecided(this.identity, context);
      case 'wait':
        return waited(this.identity.around, effect.request, context);
      case 'close':
        return this.close().then(() => ({}));
      default:
        return Promise.reject(new Error(`unknown session effect: ${effect.kind}`));
    }
  }

  /** Adds the targets whose gates are asked from the first attempt on. */
  private prepared(outcome: PrepareOutcome): PrepareOutcome {
    if (!outcome.ok) return outcome;
    const unavailable = outcome.unavailable.map(({ target }) => target);
    const gated = this.admissions.prepared(outcome.tokens, unavailable);
    return gated.length === 0 ? outcome : { ...outcome, gated };
  }

  private async close(): Promise<void> {
    await this.admissions.close({ continues: false });
    await this.tools.close();
  }

  /** The session continues elsewhere: leaves what it shares with others, without waiting for its sub-agents. */
  async leave(): Promise<void> {
    await Promise.all([this.admissions.close({ continues: true }), this.tools.closeServers()]);
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
      ...{ agent, contextFor, secrets, meter, model, admissions: this.admissions },
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
