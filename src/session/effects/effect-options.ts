import { resultBytesIn } from '../../context/context-guard.ts';
import type { RequestMeter } from '../../context/request-meter.ts';
import type { ModelEffectOptions } from '../../model/model-effect.ts';
import { NamedFiles } from '../../model/prompt/files.ts';
import { PromptBuilder } from '../../model/prompt/prompt.ts';
import type { Observer } from '../../observe/observer.ts';
import { judgeReply } from '../../report/format.ts';
import { Slots } from '../../shared/slots.ts';
import type { Questions } from '../../tools/questions.ts';
import type { ToolEffectOptions } from '../../tools/running/run-tool.ts';
import type { SessionIdentity } from '../wiring/identity.ts';
import { SessionForms } from './session-forms.ts';
import type { SessionTools } from './tools.ts';
import type { turnTools } from './turn-tools.ts';

type TurnTools = ReturnType<typeof turnTools>;
type UserCode = Pick<ToolEffectOptions, 'clock' | 'timeoutMs' | 'onError'>;

/** What the model effect of a session needs. */
export function modelOptions(
  { agent, log: written, around, secrets }: SessionIdentity,
  observer: Observer,
  { catalog, settings, toolChoice, checks, isReadable }: TurnTools,
  meter: RequestMeter,
  userCode: UserCode,
): ModelEffectOptions {
  const { limits, format, definition } = agent;
  const { conversation } = observer.folds;
  const files = new NamedFiles(definition.downloads ?? {});
  return {
    targets: agent.targets,
    pricing: agent.pricing,
    settings,
    toolChoice,
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
    meter,
    messages: () => conversation.messages,
    recordRequest: written === null ? null : written.sent.bind(written, () => conversation.messages),
    sight: observer.sight.bind(observer),
    clock: around.clock,
    secrets,
  };
}

/** What the tool effect of a session needs. */
export function toolOptions(
  { agent: { limits }, head, log: written, secrets }: SessionIdentity,
  observer: Observer,
  { catalog, context, isReadable }: TurnTools,
  { questions, tools, userCode }: { questions: Questions; tools: SessionTools; userCode: UserCode },
): ToolEffectOptions {
  const { conversation, keptResults } = observer.folds;
  return {
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
    sight: observer.sight.bind(observer),
    ...{ secrets, conversation, keptResults, questions, tasks: tools },
  };
}
