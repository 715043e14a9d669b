import type { ToolChoice } from '../../../machines/index.ts';
import { allHave, voiceOf } from '../../agent/handoffs.ts';
import type { Clock } from '../../host/clock.ts';
import type { Observer } from '../../observe/observer.ts';
import { Catalog } from '../../tools/catalog.ts';
import { Policies } from '../../tools/policies.ts';
import { optionalBuiltIns } from '../../vocabulary/built-ins.ts';
import type { ModelSettings } from '../../vocabulary/settings.ts';
import type { SessionIdentity } from '../wiring/identity.ts';
import { Checks } from './checks.ts';

/** The limits of the application's own code, and what is told of its errors. */
export type UserCode = {
  clock: Clock;
  timeoutMs: number;
  onError: (name: string, callId: string, error: unknown) => void;
};

/** Makes the catalog, the settings and the checks of a session, which follow the plan of the turn (T-7). */
export function turnTools(
  { agent, contextFor, secrets }: SessionIdentity,
  observer: Observer,
  userCode: UserCode,
): {
  catalog: Catalog;
  settings: () => ModelSettings;
  /** Which call the model must make; null if it decides. */
  toolChoice: () => ToolChoice | null;
  checks: Checks;
  /** The context for the agent that has the conversation. */
  context: () => unknown;
  /** Whether the model can read a large result in full, whichever agent has the conversation then. */
  isReadable: boolean;
} {
  const { conversation, pastCalls } = observer.folds;
  const policies = agent.voices.flatMap(({ name, definition: { toolPolicies = [] } }) =>
    toolPolicies.length === 0
      ? []
      : [{ name, policies: new Policies(toolPolicies, pastCalls, userCode, contextFor(name)) }],
  );
  const speaker = () => conversation.plan?.speaker ?? null;
  const context = () => contextFor(speaker());
  const { clock, timeoutMs } = userCode;
  const checks = new Checks({ agent, speaker, clock, timeoutMs, contextFor, secrets });
  const catalog = new Catalog({
    clock,
    checkTimeoutMs: timeoutMs,
    conversation,
    policies: () => policies.find(({ name }) => name === speaker())?.policies ?? null,
    checks,
    context,
  });
  const settings = () => ({ ...voiceOf(agent, speaker()).definition.settings, ...conversation.plan?.settings });
  const toolChoice = () => conversation.plan?.toolChoice ?? null;
  const isReadable = allHave(agent, optionalBuiltIns.readResult);
  return { catalog, settings, toolChoice, checks, context, isReadable };
}
