import type { LogLine } from './log-line.ts';
import { runLines } from './run-log-lines.ts';

const session = ['sessionId', 'agent', 'parentSessionId?', 'metadata?'];
const own = { sessionId: '53960e58', agent: 'librarian' };
const totals = ['turns', 'attempts', 'requests', 'toolCalls', 'tokens', 'costUsd', 'tree'];
const spent = {
  turns: 1,
  attempts: 3,
  requests: 3,
  toolCalls: { requested: 0, executed: 0 },
  tokens: { input: 30, output: 0 },
  costUsd: null,
  tree: { sessions: 1, requests: 3, toolCalls: 0, tokens: { input: 30, output: 0 }, costUsd: null },
};

const debug = (event: string, when: string, msg: string): LogLine => ({
  event,
  level: 'debug',
  when,
  fields: [...session, 'msg'],
  advice: 'Nothing: it shows how far a session is.',
  example: { event, ...own, msg },
});

export const logLines: readonly LogLine[] = [
  {
    event: 'attempt.failed',
    level: 'warn',
    when: 'An attempt failed (S-2). There is one line for each, before the next request.',
    fields: [...session, 'turn', 'attempt', 'target', 'slugs', 'detail', 'reply', 'truncated?', 'msg'],
    advice:
      'Look the slugs up in slugs.md. Some are normal, as the next attempt mends them; many of one kind mean another model, other instructions or a simpler schema. `reply` is what the model sent, whole up to 128 KiB.',
    example: {
      event: 'attempt.failed',
      ...own,
      turn: 1,
      attempt: 1,
      target: 'openai:gpt-5',
      slugs: ['empty_response'],
      detail: null,
      reply: { finishReason: { unified: 'stop', raw: 'stop' }, toolCalls: [], text: '', reasoning: '' },
      msg: 'turn 1, attempt 1 failed: empty_response',
    },
  },
  {
    event: 'session.failed',
    level: 'error',
    when: 'A session failed (S-3), exactly once.',
    fields: [...session, 'slugs', 'detail', 'retryAt', 'advice?', ...totals, 'msg'],
    advice:
      'The first slug decides; slugs.md says what to do about it. `retryAt` says when to try again, if waiting helps. Alert on this line.',
    example: {
      event: 'session.failed',
      ...own,
      slugs: ['retries_exhausted', 'empty_response'],
      detail: null,
      retryAt: null,
      ...spent,
      msg: 'session failed: retries_exhausted, empty_response',
    },
  },
  {
    event: 'session.aborted',
    level: 'info',
    when: 'A session was aborted by its caller.',
    fields: [...session, 'slugs', 'detail', 'retryAt', 'advice?', ...totals, 'msg'],
    advice: 'Nothing, if you aborted it. `detail` is the reason that was given.',
    example: {
      event: 'session.aborted',
      ...own,
      slugs: ['aborted'],
      detail: 'the user left',
      retryAt: null,
      ...spent,
      msg: 'session aborted: aborted',
    },
  },
  {
    event: 'session.suspended',
    level: 'info',
    when: 'A session with a journal was suspended by `suspend`.',
    fields: [...session, 'slugs', 'detail', 'retryAt', 'advice?', ...totals, 'msg'],
    advice: 'Resume it with `resumeSession` or `resumeAll`.',
    example: {
      event: 'session.suspended',
      ...own,
      slugs: ['suspended'],
      detail: null,
      retryAt: null,
      ...spent,
      msg: 'session suspended: suspended',
    },
  },
  {
    event: 'session.suspended',
    level: 'error',
    when: 'The journal of a session could not be written any more, so nothing more was done (`journal_failed`).',
    fields: [...session, 'slugs', 'detail', 'retryAt', 'advice?', ...totals, 'msg'],
    advice: 'Fix the journal (disk, server, permissions), then resume the session.',
    example: {
      event: 'session.suspended',
      ...own,
      slugs: ['journal_failed'],
      detail: 'The journal pawl.db cannot be written: database or disk is full.',
      retryAt: null,
      ...spent,
      msg: 'session suspended: journal_failed',
    },
  },
  {
    event: 'session.succeeded',
    level: 'info',
    when: 'A session succeeded (S-3), exactly once.',
    fields: [...session, ...totals, 'msg'],
    advice: 'Count it, with `session.failed`, for a rate of success; `tree.costUsd` is what it cost.',
    example: { event: 'session.succeeded', ...own, ...spent, msg: 'session succeeded after turn 1' },
  },
  {
    event: 'server.unavailable',
    level: 'info',
    when: 'An optional MCP server is not there, or a tool or an option of a server cannot be used.',
    fields: [...session, 'server', 'line', 'msg'],
    advice: 'The session runs without it. Start the server, or correct its options.',
    example: {
      event: 'server.unavailable',
      ...own,
      server: 'files',
      line: 'the optional MCP server files is unavailable: spawn npx ENOENT',
      msg: 'the optional MCP server files is unavailable: spawn npx ENOENT',
    },
  },
  {
    event: 'server.said',
    level: 'debug',
    when: 'An MCP server wrote to its standard error.',
    fields: [...session, 'server', 'line', 'msg'],
    advice: 'Read it when a server misbehaves.',
    example: { event: 'server.said', ...own, server: 'files', line: 'listening', msg: 'listening' },
  },
  {
    event: 'tool.threw',
    level: 'debug',
    when: 'A tool, a policy or a check of yours threw (C-3). The model gets its message alone.',
    fields: [...session, 'name', 'callId', 'error', 'msg'],
    advice: 'Read the stack in `error`, which appears nowhere else.',
    example: {
      event: 'tool.threw',
      ...own,
      name: 'search',
      callId: 'call_1',
      error: 'TypeError: catalogue is undefined\n    at search (…)',
      msg: 'search threw',
    },
  },
  {
    event: 'context.threw',
    level: 'error',
    when: 'The `context` or `metadata` function of a server (`pawl/openai`, `pawl/ui`) threw, or returned what does not fit. The client gets a 500 without details.',
    fields: ['error', 'msg'],
    advice: 'Read the stack in `error`. Throw a `Response` to refuse a caller.',
    example: {
      event: 'context.threw',
      error: 'TypeError: user is undefined\n    at context (…)',
      msg: 'context(), metadata() or authorize() failed',
    },
  },
  {
    event: 'request.failed',
    level: 'error',
    when: 'A server (`pawl/openai`, `pawl/ui`, `serveMcp` over HTTP) could not answer a request, and the client is not at fault. It gets a 409, 500 or 503 without details.',
    fields: ['error', 'msg'],
    advice:
      'Read `error`. `agent_changed`: the session waits for the agent that began it. `journal_failed`: fix the journal.',
    example: {
      event: 'request.failed',
      error: 'PawlError: The journal pawl.db cannot be read: database disk image is malformed.\n    at read (…)',
      msg: 'a request could not be answered',
    },
  },
  {
    event: 'server.failed',
    level: 'error',
    when: 'A server (`serveOpenai`, `serveMcp` over HTTP, the inspector) could not accept a connection. It continues.',
    fields: ['error', 'msg'],
    advice: 'Read `error`. `EMFILE`: the process has too many open files and connections; raise its limit.',
    example: {
      event: 'server.failed',
      error: 'Error: accept EMFILE\n    at (…)',
      msg: 'a server could not accept a connection',
    },
  },
  debug('turn.started', 'A turn begins.', 'turn 2 started'),
  debug('session.collapsed', 'The bound shrank (B-4).', 'collapsed from 10 turns to 3: final_report_rejected'),
  debug('wait.started', 'No target is free.', 'waiting for openai:gpt-5 until 2026-11-22T07:00:00.000Z'),
  debug(
    'admission.requested',
    'A gate or a shared budget is asked (P-7, B-8).',
    'asking whether attempt 1 of turn 2 may begin on openai:gpt-5',
  ),
  debug(
    'results.omitted',
    'Results do not fit the window (T-6).',
    'left out 2 results and 0 tokens of old text, which do not fit the context window',
  ),
  debug(
    'conversation.compacted',
    'One message took the place of earlier ones (T-9).',
    'compacted the conversation before turn 12: 38 messages in one',
  ),
  debug(
    'compaction.failed',
    'The conversation stays as it was (T-9).',
    'did not compact the conversation before turn 12: The summary is empty.',
  ),
  debug(
    'piece.replaced',
    'A provider refused a piece of a request, and a stub stands for it (P-2).',
    'left out the result of call c1, which openai:gpt-5 refused: invalid image',
  ),
  debug('target.excluded', 'A target gets no more requests (P-2).', 'dropped openai:gpt-5: provider_auth'),
  ...runLines,
];
