/** Helpers for testing an agent, such as models and a model server that misbehave on command. */

export {
  type EvaluateOptions,
  type Evaluation,
  type EvaluationCase,
  evaluate,
  type Judge,
  type Scores,
} from './evaluate.ts';
export { assertInvariants, brokenPromises, type Witness } from './invariants.ts';
export { type JournalFactory, journalConformance } from './journal-conformance.ts';
export { type ManualClock, manualClock } from './manual-clock.ts';
export { type PawlMatchers, pawlMatchers } from './matchers.ts';
export {
  type ModelServer,
  type RecordedRequest,
  type RequestBody,
  type ServerScript,
  startModelServer,
  type Wire,
} from './model-server.ts';
export { type RecordedOptions, recorded } from './recorded.ts';
export {
  type RecordedAgent,
  type RecordedAgentOptions,
  type RecordedSource,
  recordedAgent,
} from './recording/recorded-agent.ts';
export { type RecordedModel, type RecordedModelOptions, recordedModel } from './recording/recorded-model.ts';
export { recordingModel } from './recording/recording-model.ts';
export { replayFixture } from './recording/replay-fixture.ts';
export {
  type RehearsalModel,
  type RehearsalRequest,
  type RehearsalScript,
  type RehearsedReply,
  rehearsalModel,
} from './rehearsal-model.ts';
export type { ScriptedResponse } from './scripted-response.ts';
export { type SessionPath, type SessionPathsOptions, type Step, sessionPaths } from './session-paths.ts';
export { type VerifiedSession, type VerifyOptions, verifySessions } from './verify/verify-sessions.ts';
