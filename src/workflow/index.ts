/** `pawl/workflow`: runs over a backlog of work items. */

export type { BacklogItem } from './backlog/backlog.ts';
export type { WorkItemInput } from './backlog/work-item-input.ts';
export { createWorkItem, type WorkItemResult } from './backlog/work-items.ts';
export type { WorkflowEvent, WorkflowOptions } from './options.ts';
export type {
  ApprovalDecision,
  ApprovalQuestion,
  NamedAgent,
  WorkFunction,
  WorkResult,
  WorkTask,
} from './run/agents.ts';
export type { ScanFunction, WordsFunction, WorkflowAgents } from './run/parts.ts';
export {
  runWorkflow,
  type WorkflowResult,
} from './run/run-workflow.ts';
export { workItemTool } from './work-item-tool.ts';
