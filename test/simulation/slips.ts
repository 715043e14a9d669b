import type { Breakage } from '../graph/breakages.ts';

/**
 * Slips that no mutation operator makes: a guard that holds where it is asked for, and not at the second use; a step that
 * only a slow neighbour shows; who is current. Each is noticed by one of these tests.
 */
export const testsOfSlips = [
  'test/session/session-owner.test.ts',
  'test/agent/walked-lists.test.ts',
  'test/journal/told-when.test.ts',
  'test/journal/early-decisions.test.ts',
  'test/journal/closed-journals.test.ts',
  'test/testing/conformance.test.ts',
  'test/journal/late-ends.test.ts',
  'test/journal/sqlite-deletes.test.ts',
  'test/ui/chat-orders.test.ts',
  'test/ui/chat-access.test.ts',
  'test/ui/left-in-memory.test.ts',
  'test/ui/masked-errors.test.ts',
  'test/workspace/opened-files.test.ts',
];

export const slipsOfSrc: Breakage[] = [
  {
    name: 'C-6: a steer after the last request is lost',
    file: 'src/session/wiring/owner.ts',
    from: "    if (command.type === 'session.steer') conversation.messages.push(userMessage(command.text));",
    to: "    if (command.type === 'session.steer') void [conversation, userMessage];",
  },
  {
    name: 'S-5: secrets of agents in `handoffs` are forgotten',
    file: 'src/agent/secrets.ts',
    from: '[...Object.values(agents), ...Object.values(handoffs).map(handedAgent)]',
    to: '[...Object.values(agents)]',
  },
  {
    name: 'G-2: only the first voice is checked',
    file: 'src/session/effects/checks.ts',
    from: 'new Set([voiceOf(agent, null), voiceOf(agent, speaker())])',
    to: 'new Set([voiceOf(agent, null)])',
  },
  {
    name: 'D-3f: a resumed session goes live before its beginning is durable',
    file: 'src/session/recovery/resume-session.ts',
    from: '    await tree.write();\n',
    to: '    void tree.write();\n',
  },
  {
    name: 'D-3g: a tool begins although its lease is not held',
    file: 'src/tools/running/run-tool.ts',
    from: '  if (lease?.isHeld === false) await owned(lease, run.signal);\n',
    to: '',
  },
  {
    name: 'D-3g: the inbox is read before the lease is renewed',
    file: 'src/journal/tree-log.ts',
    from: 'if (this.lease.isDue) await this.lease.extend();',
    to: 'if (this.lease.isDue) void this.lease.extend();',
  },
  {
    name: 'P-1: a slow journal is a provider that is late',
    file: 'src/model/request-timers.ts',
    from: '    this.cancelTotal();\n    return this.orAborted(writing);',
    to: '    return this.orAborted(writing);',
  },
  {
    name: 'D-2f: a call is decided twice',
    file: 'src/journal/journal.ts',
    from: 'return call === null || waitingCalls.some((one) => callText(one) === callText(call));',
    to: 'return call === null || waitingCalls.length >= 0;',
  },
  {
    name: 'D-5c: an end that could not be written is not written again',
    file: 'src/journal/tree-log.ts',
    from: 'if (this.unwritten !== null) endLater(',
    to: 'if (this.unwritten === undefined) endLater(',
  },
  {
    name: 'D-3g: a clock that is set back locks a session',
    file: 'src/journal/journal.ts',
    from: 'return leftMs > 0 && leftMs <= 2 * leaseMs;',
    to: 'return leftMs > 0 && leaseMs > 0;',
  },
  {
    name: 'C-1: a chat decides in the session of another whose id begins as its own',
    file: 'src/ui/chat/chats.ts',
    from: '}:`, agent: this.agent.name',
    to: '}`, agent: this.agent.name',
  },
  {
    name: 'C-1: the end of an old session forgets the new one of its chat',
    file: 'src/ui/chat/chats.ts',
    from: '      if (this.sessions.get(chatId) !== session) return;\n',
    to: '',
  },
  {
    name: 'C-1: requests of a chat are answered beside each other',
    file: 'src/ui/chat/chats.ts',
    from: 'private readonly inTurn = oneAtATimePerKey();',
    to: 'private readonly inTurn = ((_: string, act: () => unknown) => act()) as ReturnType<typeof oneAtATimePerKey>;',
  },
  {
    name: 'S-6f: the event stream masks nothing',
    file: 'src/ui/event-stream-response.ts',
    from: 'data: errors.masked(value)',
    to: 'data: value',
  },
  {
    name: 'A file is opened where a link leads by then',
    file: 'src/workspace/opened.ts',
    from: '    if (opened.ino !== checked.ino || opened.dev !== checked.dev) throw replaced(given);\n',
    to: '',
  },
];
