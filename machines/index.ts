/** The state machines, which make every decision. They never use the clock, randomness, the network or the disk. */
export { attemptMachine } from './attempt/attempt.machine.ts';
export type * from './attempt/attempt.types.ts';
export { backoffMs, longestWaitMs } from './contract/backoff.ts';
export { batchOutput, type InnerAnswer, outputText } from './contract/batch.ts';
export * from './contract/calls.ts';
export * from './contract/context.ts';
export * from './contract/conversation.ts';
export {
  type Counters,
  count,
  countSubAgent,
  countSummary,
  countTool,
  emptyCounters,
  type ToolCounters,
} from './contract/counters.ts';
export { isSameDecision, isSameJson } from './contract/decisions.ts';
export * from './contract/effects.ts';
export type * from './contract/events.ts';
export { failedOutcome } from './contract/failed-outcome.ts';
export { type Fault, type FaultKind, faultKinds, faultSlug, type RefusedPiece } from './contract/faults.ts';
export { degenerateFinish, type FinishSense, finishSense, oversizedFinish } from './contract/finish-reasons.ts';
export type { Json, JsonObject } from './contract/json.ts';
export * from './contract/keys.ts';
export { assistantMessage, failedMessage, withoutItemIds } from './contract/lasting.ts';
export {
  effectLeaf,
  type HostEvent,
  type LeafEvent,
  type LeafInput,
  type LeafLogic,
  type LeafRef,
  leaves,
  workflowLeaves,
} from './contract/leaf.ts';
export {
  type Allowance,
  type Bound,
  type Budget,
  type CollapseCause,
  type CollapseReason,
  type CollapseRequest,
  collapsed,
  fairGrants,
  leftForSubAgents,
  moneyLeft,
  nothingSpent,
  type RequestsLeft,
  requestBound,
  requestsLeft,
  type Spent,
  spentTogether,
} from './contract/limits.ts';
export { composeNotice, type NoticeOccasion, noticePrefix } from './contract/notice.ts';
export { countPrefixBreak, type PrefixBreak } from './contract/prefix-break.ts';
export { type Repairs, repairConversation } from './contract/repair.ts';
export * from './contract/reply.ts';
export type * from './contract/report.ts';
export type { SlugRow } from './contract/slug-row.ts';
export { type Slug, slugs, slugTable, unionOfSlugs } from './contract/slugs.ts';
export {
  afterFault,
  afterReply,
  chooseTarget,
  freshTargets,
  orderFrom,
  type TargetChoice,
  type TargetState,
} from './contract/targets.ts';
export { historyInput, type ParsedInput, parseTextInput, parseToolInput } from './contract/tool-input.ts';
export { failure, plainSuccess, resultText, type ToolResult } from './contract/tool-result.ts';
export * from './contract/work.ts';
export { itemMachine } from './item/item.machine.ts';
export type * from './item/item.types.ts';
export { sessionMachine } from './session/session.machine.ts';
export type * from './session/session.types.ts';
export { toolCallMachine } from './tool-call/tool-call.machine.ts';
export type * from './tool-call/tool-call.types.ts';
export { turnMachine } from './turn/turn.machine.ts';
export type * from './turn/turn.types.ts';
export { machinesVersion } from './version.ts';
export { endsRun, reasonOf } from './workflow/incident.rules.ts';
export { workflowMachine } from './workflow/workflow.machine.ts';
export { runState } from './workflow/workflow.rules.ts';
export type * from './workflow/workflow.types.ts';
