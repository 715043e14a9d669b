/** Pawl: LLM agent sessions that are bounded, answered and accounted for. */
export type {
  AssistantMessage,
  CollapseReason,
  Counters,
  Fact,
  Failure,
  Fault,
  FaultKind,
  Json,
  JsonObject,
  Message,
  Reply,
  ReportSource,
  ReportVerdict,
  Slug,
  ToolMessage,
  ToolOutput,
  ToolResult,
  Usage,
  UserMessage,
} from '../machines/index.ts';
export { slugs } from '../machines/index.ts';
export type { Agent, AgentDefinition, Limits } from './agent-definition.ts';
export { defineAgent } from './define-agent.ts';
export { PawlError, type PawlErrorCode } from './errors.ts';
export type { Clock } from './host/clock.ts';
export type { InputMessage } from './model/messages.ts';
export type { Price } from './model/pricing.ts';
export type { ModelSettings } from './model/request-model.ts';
export type { EventListener, SessionEvent } from './observe/events.ts';
export type { Logger } from './observe/log.ts';
export type { AttemptRecord, CallRecord, TurnRecord } from './observe/records.ts';
export { type Slice, slice } from './observe/slices.ts';
export type { ReportFormat } from './report/format.ts';
export type { ReportDefinition } from './report/registry.ts';
export { type ServedAgent, type ServeMcpOptions, serveMcp } from './serve/serve-mcp.ts';
export type { Session, SessionBudget, SessionOptions, SessionReport, SessionResult } from './session.ts';
export { runSession, startSession } from './start-session.ts';
export type { ToolContext } from './tools/catalog.ts';
export type { FunctionTool, LocalTool } from './tools/local.ts';
export type { McpServerConfig, McpServerDefinition } from './tools/mcp-definition.ts';
export { type McpPool, mcpPool } from './tools/mcp-pool.ts';
export { type OpenApiOptions, openApiTools } from './tools/openapi.ts';
export {
  allow,
  deny,
  type PastCall,
  type PolicyCall,
  type PolicyVerdict,
  readBeforeWrite,
  requires,
  type ToolPolicy,
} from './tools/policies.ts';
export { type RestAuth, type RestToolOptions, restTool } from './tools/rest.ts';
export { ToolError } from './tools/result.ts';
export type {
  ApprovalDecision,
  ApprovalQuestion,
  NamedAgent,
  WorkFunction,
  WorkResult,
  WorkTask,
} from './workflow/agents.ts';
export type { BacklogItem } from './workflow/backlog.ts';
export {
  runWorkflow,
  type WorkflowEvent,
  type WorkflowOptions,
  type WorkflowResult,
} from './workflow/run-workflow.ts';
export type { WorkItemInput } from './workflow/work-item-input.ts';
export { workItemTool } from './workflow/work-item-tool.ts';
export { createWorkItem, type WorkItemResult } from './workflow/work-items.ts';
export type { ScanFunction, WordsFunction, WorkflowAgents } from './workflow/workflow-effects.ts';
