/** Pawl: LLM agent sessions with bounded requests, answered calls and complete accounts. */
import './platform/supported.ts';

export type {
  AssistantMessage,
  CollapseReason,
  Counters,
  Fact,
  Failure,
  Fault,
  FaultKind,
  FilePart,
  Json,
  JsonObject,
  Message,
  Reply,
  ReportSource,
  ReportVerdict,
  Slug,
  ToolCounters,
  ToolMessage,
  ToolOutput,
  ToolResult,
  Usage,
  UserMessage,
} from '../machines/index.ts';
export { slugs } from '../machines/index.ts';
export type { CompactBy, CompactInput, CompactOptions } from './agent/compaction.ts';
export { type DefinedAgent, defineAgent } from './agent/define-agent.ts';
export type { Agent, AgentDefinition, Handoff, HandoffContext } from './agent/definition.ts';
export {
  type CheckContext,
  type CheckInput,
  type CheckReply,
  type CheckReport,
  type CheckVerdict,
  replace,
} from './agent/guardrails.ts';
export { handoff } from './agent/handoff.ts';
export { type ResultReaderOptions, resultReader } from './agent/result-reader.ts';
export type { PrepareTurn, TurnChanges, TurnPreparation } from './agent/turn-changes.ts';
export type { BatchInput, BatchItem, BatchOptions, BatchSummary } from './batch/options.ts';
export { runBatch } from './batch/run-batch.ts';
export type { Clock } from './host/clock.ts';
export { boundedFetch } from './http/bounded-fetch.ts';
export { PawlError, type PawlErrorCode } from './input/errors.ts';
export {
  type Append,
  callDecidedBy,
  type Journal,
  type JournalEntry,
  type JournaledSession,
  type SessionChange,
  type SessionHead,
  type SessionMessage,
  type SessionQuery,
  type SessionStatus,
  type WaitingCall,
} from './journal/journal.ts';
export { deleteSession, exportSession, listSessions, pruneSessions } from './journal/sessions.ts';
export { type SharedBudget, type SharedBudgetOptions, sharedBudget } from './journal/shared-budget.ts';
export { sqliteCache } from './journal/sqlite/cache.ts';
export { type SqliteJournalOptions, sqliteJournal } from './journal/sqlite/sqlite.ts';
export type { InputMessage } from './model/messages.ts';
export type { ModelEntry } from './model/targets.ts';
export type { EventListener, SessionEvent } from './observe/events.ts';
export type { Logger, LoggerOption } from './observe/log/logger.ts';
export type { AttemptRecord, CallRecord, TurnRecord } from './observe/records.ts';
export { type Slice, slice } from './observe/slices.ts';
export type { JsonOf } from './platform/plain-json.ts';
export type { ReportFormat } from './report/format.ts';
export type { ReportDefinition } from './report/registry.ts';
export { serveMcp } from './serve/serve-mcp.ts';
export type { ServedAgent, ServeMcpOptions } from './serve/served-agent.ts';
export type { ResumeOptions, SessionBudget, SessionOptions } from './session/options.ts';
export {
  type CheckedSession,
  type CheckSessionsOptions,
  checkSessions,
  type SessionDifference,
} from './session/recovery/check-sessions.ts';
export { type ForkOptions, forkSession } from './session/recovery/fork-session.ts';
export type { RefusedSession, ResumeAllOptions, ResumePass } from './session/recovery/looking.ts';
export { abortSession, answerSession, approveSession, steerSession, stopSession } from './session/recovery/messages.ts';
export { resumeAll } from './session/recovery/resume-all.ts';
export { resumeSession } from './session/recovery/resume-session.ts';
export {
  type PendingApproval,
  type PendingApprovalsOptions,
  pendingApprovals,
} from './session/replay/pending-approvals.ts';
export {
  type RecordedSession,
  type ReplayOptions,
  readSession,
  replaySession,
} from './session/replay/replay-session.ts';
export type { ReplayedSession, ReplayStep, SentRequest } from './session/replay/replayed.ts';
export type {
  AcceptedReport,
  AnswerOptions,
  Session,
  SessionReport,
  SessionResult,
  SuspendOptions,
  SyntheticReport,
} from './session/session.ts';
export { runSession, startSession } from './session/start-session.ts';
export type { UndoableCall } from './session/undoable.ts';
export type { BudgetShare, BudgetStore } from './shared/budget-store.ts';
export type { GateStore, KeptGate } from './shared/gate-store.ts';
export type { GateLimits } from './shared/pace.ts';
export type { ToolContext, UndoneCall } from './tools/catalog-tool.ts';
export { type FunctionTool, idempotent, type LocalTool } from './tools/local.ts';
export type { McpServerConfig } from './tools/mcp/config.ts';
export type { McpServerDefinition } from './tools/mcp/pool.ts';
export { type McpPool, mcpPool } from './tools/mcp/pool.ts';
export {
  allow,
  deny,
  noRepeats,
  type PastCall,
  type PolicyCall,
  type PolicyVerdict,
  readBeforeWrite,
  requires,
  type ToolPolicy,
} from './tools/policies.ts';
export type { CachedValue, CacheStore, ToolCache } from './tools/running/cache.ts';
export type { InterruptedCall, Reconciled } from './tools/running/reconcile.ts';
export { openApiTools } from './tools/service/openapi.ts';
export type { OpenApiOptions } from './tools/service/openapi-options.ts';
export { type RestToolOptions, restTool } from './tools/service/rest.ts';
export type { RestAuth } from './tools/service/rest-auth.ts';
export type { Limits } from './vocabulary/limits.ts';
export type { Metadata } from './vocabulary/metadata.ts';
export type { SessionOverrides } from './vocabulary/overrides.ts';
export type { Price } from './vocabulary/prices.ts';
export type { ModelSettings } from './vocabulary/settings.ts';
export { ToolError } from './vocabulary/tool-error.ts';
