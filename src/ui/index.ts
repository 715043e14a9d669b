/** `pawl/ui`: sessions on a page, as the AI SDK's UI message streams and as plain server-sent events. */
import '../platform/supported.ts';

export { agUiHandler } from './ag-ui/ag-ui-handler.ts';
export { toAgUiStream } from './ag-ui/ag-ui-stream.ts';
export type { AgUiEvent, AgUiRun } from './ag-ui/run.ts';
export { SessionFailed } from './agent/steps.ts';
export { type AgentCallOptions, type ToAgentOptions, toAgent } from './agent/to-agent.ts';
export { chatHandler } from './chat/chat-handler.ts';
export type { ChatAction, ChatOptions } from './chat/chat-options.ts';
export {
  type ListChatsOptions,
  type ListedChat,
  listChats,
  toUIMessages,
  type UIHistoryOptions,
} from './chat/ui-history.ts';
export {
  type AddedMessages,
  fromUIMessages,
  readUIRequest,
  type UIAnswer,
  type UIDecision,
  type UIRequest,
} from './chat/ui-request.ts';
export { lastEventId, toEventStreamResponse } from './event-stream-response.ts';
export { followSession } from './follow-session.ts';
export { partialReport } from './partial-report.ts';
export type { PawlUIMessage, ReportData, TurnData, UIChunk, UIData, UIMetadata } from './ui-message.ts';
export {
  type Followed,
  toUIMessageStream,
  toUIMessageStreamResponse,
  type UIStreamOptions,
} from './ui-message-stream.ts';
