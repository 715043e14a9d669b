import { readFileSync } from 'node:fs';
import type { SessionEvent } from '../../src/observe/events.ts';

/** What each event says, in the order of a session. */
const says: Record<SessionEvent['type'], string> = {
  'session.started': 'The session begins, with its bound and its targets.',
  'server.connected': 'An MCP server is connected, with these tools.',
  'server.lost': 'The connection to an MCP server broke.',
  'server.unavailable': 'An optional MCP server cannot be reached; the session continues without it.',
  'server.toolsChanged': 'An MCP server has changed its list of tools.',
  'session.prepared': 'The tools are open, and the input is checked.',
  'conversation.repaired':
    'The messages that were given had calls without answers, or the like, and were repaired (C-6).',
  'turn.planned': 'The next turn has been planned (T-7).',
  'conversation.compacted': 'A summary took the place of messages (T-9).',
  'compaction.failed': 'No summary could be produced, so the conversation stays as it was (T-9).',
  'summary.requested': 'A model is asked for a summary (T-9).',
  'turn.started': 'A turn begins.',
  'wait.started': 'No target is free, so the next attempt waits (P-3).',
  'wait.ended': 'That wait is over.',
  'admission.requested': 'The next attempt waits for a gate or a shared budget (P-7, B-8).',
  'admission.ended': 'The attempt may start, or the budget allows no more.',
  'results.omitted': 'Results or old text do not fit the context window and are left out (T-6).',
  'piece.replaced': 'A provider refused a piece of the conversation, which is replaced (P-2).',
  'attempt.started': 'A request is about to be sent (B-6).',
  'prefix.broken': 'The request does not extend the one before, so no cache is read (B-5d).',
  'model.delta': 'A piece of the reply, as it streams (S-6).',
  'model.warned': 'The provider warns, such as of a setting that it ignores.',
  'attempt.replied': 'The reply, or the fault, with tokens and cost.',
  'tool.requested': 'The model calls a tool.',
  'tool.approvalRequested': 'A call waits for a person.',
  'tool.approved': 'A person, or a policy, permits the call.',
  'tool.denied': 'A person, or a policy, refuses the call.',
  'tool.started': 'A tool runs.',
  'tool.cached': 'The result is one that was kept before.',
  'tool.progressed': 'A tool sent output before it ended.',
  'tool.handedOut': 'A call waits for its answer from outside.',
  'tool.followed': 'An MCP server answered with a task, which is waited for (D-4).',
  'tool.asked': 'The MCP server of a call asks its user.',
  'tool.replied': 'That question was answered, or declined.',
  'subAgent.started': 'A sub-agent begins; its own events carry its path (B-7).',
  'subAgent.ended': 'A sub-agent has ended (B-7).',
  'tool.answered': 'The one answer to a call (C-1, C-4).',
  'progress.reported': 'The model tells how far it is.',
  'report.rejected': 'A report is not as it must be (F-2).',
  'report.accepted': 'The report is accepted.',
  'attempt.finished': 'The attempt delivered the report.',
  'attempt.progressed': 'The attempt made calls that were carried out.',
  'attempt.failed': 'The attempt failed, for these reasons.',
  'attempt.aborted': 'The attempt was ended by an abort.',
  'target.excluded': 'A target gets no more requests (P-2).',
  'turn.progressed': 'The turn led to the next one.',
  'turn.finished': 'The turn ended with the report.',
  'turn.exhausted': 'All attempts of the turn failed.',
  'turn.aborted': 'The turn was ended by an abort.',
  'session.steered': 'A message was added while it ran.',
  'session.collapsed': 'The next turn is the last (B-4).',
  'session.stopping': 'The session was asked to report next.',
  'session.aborting': 'The session was asked to end now.',
  'session.succeeded': 'The end: the report was accepted.',
  'session.failed': 'The end: it failed, for these reasons.',
  'session.aborted': 'The end: it was aborted.',
  'session.suspended': 'It stopped before its end, and can be resumed (D-4).',
  'session.resumed': 'The session continues after a crash or a suspension (D-4).',
  'effect.late': 'A result came too late and was dropped (D-2).',
  'observer.failed': 'A listener of yours threw.',
};

/** The text of docs/events.md, made from the types of events. */
export function eventDocument(): string {
  const source = ['machines/contract/events.ts', 'src/observe/events.ts']
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const rows = Object.entries(says).map(([type, text]) => `| \`${type}\` | ${text} | ${fieldsOf(type, source)} |`);
  return `# Events

All events of a session, as \`session.events\` and \`onEvent\` give them. This page is made from
\`machines/contract/events.ts\` and \`src/observe/events.ts\` by \`npm run draw\`. Each event also has \`sessionId\`,
\`agent\`, \`at\` (epoch ms), \`path\` (the sub-agents down to it) and \`seq\` (its position in the stream, S-6).
The type is \`SessionEvent\`.

${table([['event', 'what happened', 'its own fields'], ...rows.map((row) => row.slice(2, -2).split(' | '))])}
`;
}

/** The names of an event's fields, as its type has them. */
function fieldsOf(type: string, source: string): string {
  const begin = source.indexOf(`type: '${type}'`);
  const end = source.indexOf('}', begin);
  // Of an object within a field, only the field counts.
  const own = source.slice(begin, end).split(/[;\n]/).slice(1);
  const names = own.flatMap((one) => /^\s*(\w+)\??:/.exec(one)?.[1] ?? []);
  const more = /^\}\s*& (CallName)?/.exec(source.slice(end));
  const ofCall = more?.[1] === undefined ? [] : ['turn', 'attempt', 'index', 'callId', 'name'];
  const ofAnswer = source.slice(end, end + 40).includes('CallAnswer')
    ? ['executed', 'slug', 'result', 'output', 'tokens', 'kept']
    : [];
  return [...ofCall, ...names, ...ofAnswer].map((name) => `\`${name}\``).join(', ') || '–';
}

function table([head = [], ...rows]: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
