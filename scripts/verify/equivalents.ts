import { readFileSync } from 'node:fs';
import type { Survivor } from './mutation-report.ts';

/** A kind of surviving mutant: its file and the text of its line (any without one), its code, and why it changes nothing. */
type Equivalent = { file?: string; line?: RegExp; original: RegExp; replacement?: RegExp; why: string };

const equivalents: Equivalent[] = [
  {
    original: /^default:[\s\S]*satisfies never/,
    why: 'the switch covers a closed union; `satisfies never` proves that this branch is unreachable',
  },
  {
    file: 'attempt.rules.ts',
    original: /^(disposition === undefined|\[\])$/,
    why: 'the value is never missing there, but the type allows it',
  },
  {
    file: 'attempt.rules.ts',
    original: /^reply !== null( && fault === null)?$/,
    why: 'an outcome without a reply has a fault',
  },
  {
    file: 'attempt.rules.ts',
    original: /^disposition\.kind === 'refuse'$/,
    replacement: /^true$/,
    why: 'only a refusal has a slug to compare',
  },
  {
    file: 'attempt.rules.ts',
    original: /^''$/,
    why: 'the text of a placeholder reading is never read',
  },
  {
    file: 'attempt.rules.ts',
    original: /^index === null$/,
    replacement: /^false$/,
    why: 'no call has the index null, so a search for it finds nothing either',
  },
  {
    file: 'attempt.rules.ts',
    original: /^verdict\?\.valid === true$/,
    replacement: /^true$/,
    why: 'an accepted report is valid',
  },
  {
    file: 'attempt.rules.ts',
    original: /^(outcome\.calls\[index\]\?\.\w+|call\?\.report|verdict\?\.valid|context\.reading\?\.\w+)$/,
    why: 'the value is always present, but the type allows it to be missing',
  },
  {
    file: 'incident.rules.ts',
    original: /^''$/,
    why: 'a text always has a first line, but the index type allows undefined',
  },
  {
    file: 'settling.rules.ts',
    original: /^\/\^\[\^\/\]\+\/$/,
    why: 'the first match is at the start in either case',
  },
  {
    file: 'batch.ts',
    original: /^(''|part\.type === 'text')$/,
    why: 'all parts are text there, but the type allows others',
  },
  {
    file: 'conversation.ts',
    original: /^clean\.slice\(0, 63\)$/,
    why: 'no property that every object inherits has a name that long',
  },
  {
    file: 'faults.ts',
    original: /^'(rate_limited|invalid_request)'$/,
    why: 'the slug of this fault equals its name, which is also the default',
  },
  {
    file: 'repair.ts',
    original: /^\[\]$/,
    why: 'the code never searches for an id that no call has',
  },
  {
    file: 'repair.ts',
    original: /^answer\.position [<>] \w+$/,
    replacement: /[<>]=/,
    why: 'a message is not both a call and its answer',
  },
  {
    file: 'repair.ts',
    original: /^(message\.role === 'assistant'|this\.calls\.get\(id\)\?\.find)$/,
    why: 'only assistant messages have calls, and every call searched for exists',
  },
  {
    file: 'reply.ts',
    original: /^\[\]$/,
    why: 'the code never searches for an id that no call has',
  },
  {
    file: 'repair.ts',
    original: /^(list\.splice.*|part\.type [!=]== 'tool-call')$/,
    why: 'only calls have the field checked next to it, and the found item exists',
  },
  {
    file: 'reply.ts',
    original: /^'(file|reasoning-file|custom)'$/,
    why: 'the default returns the same part',
  },
  {
    file: 'targets.ts',
    original: /^(step < targets\.length|state === undefined)$/,
    why: 'the first target is checked twice with the same result, and each index has a state',
  },
  {
    file: 'tool-input.ts',
    original: /^'not JSON'$/,
    why: 'JSON.parse only throws Error objects',
  },
  {
    file: 'tool-input.ts',
    original: /^(text\.length > 2 \* deepest|2 \* deepest)$/,
    why: 'this is a shortcut: a shorter text cannot be that deep',
  },
  {
    file: 'tool-input.ts',
    original: /^index < json\.length$/,
    why: 'there are no characters past the end',
  },
  {
    file: 'repair.ts',
    original: /^(message\.role === 'user'|'user'|\{\s+const content = message\.content\.filter[\s\S]*)$/,
    why: 'the path for other messages gives the same result for a user message',
  },
  {
    file: 'leaf.ts',
    original: /^\(snapshot\) => snapshot$/,
    why: 'leaves are not persisted yet',
  },
  {
    file: 'incident.rules.ts',
    original: /^(text\.replace.*|line\.trimEnd\(\))$/,
    why: 'trailing blanks are trimmed again later, or are never shown',
  },
  {
    original: /^\{\s+context: \{\} as /,
    why: 'types are erased at run time',
  },
  {
    file: 'attempt.machine.ts',
    original: /^(\[\]|''|\{ callId: '', name: '' \}|reading\?\.calls|context\.reading\?\.calls)$/,
    why: 'calls start after their reply has been read, but the type does not guarantee that',
  },
  {
    original: /^event\.type [!=]== 'session\.(stop|abort)' (&&|\|\|) event\.type [!=]== 'session\.(stop|abort)'$/,
    why: 'no other event leads there, but the action type allows any event',
  },
  {
    file: 'turn.setup.ts',
    original:
      /^(\[\]|''|last\?\.slugs|targets\[current\]\?\.name|context\.targets\[.*\]\?\.name|context\.waiting\?\.\w+)$/,
    why: 'the value is always present, but the type allows it to be missing',
  },
  {
    file: 'turn.setup.ts',
    original: /^choice\.kind === '(free|wait)'$/,
    replacement: /^true$/,
    why: 'the guard on the arrow already ensures that',
  },
  {
    file: 'turn.machine.ts',
    original: /^output === 'finished' \|\| /,
    replacement: /^true$/,
    why: 'exhausted is the only output left',
  },
  {
    file: 'session.machine.ts',
    original: /^'internal_error'$/,
    why: 'an ended session always has an ending, but the type allows it to be missing',
  },
  {
    file: 'session.setup.ts',
    original: /^context\.ending\?\.status$/,
    why: 'an ended session always has an ending, but the type allows it to be missing',
  },
  {
    file: 'tool-call.machine.ts',
    original: /^(\{ executed: false, .*|false|'internal_error')$/,
    why: 'an ended call always has an answer, but the type allows it to be missing',
  },
  {
    file: 'workflow.setup.ts',
    original: /^(\[\]|outcome\.kind !== 'crashed')$/,
    why: 'the guard on the arrow already ensures that',
  },
  {
    file: 'workflow.setup.ts',
    original: /^'settingAside'$/,
    why: 'the phase is reported only together with problems; here there are none',
  },
  {
    file: 'workflow.machine.ts',
    original: /^'capturing'$/,
    why: 'the action names the phase itself',
  },
  {
    file: 'agent/redact.ts',
    original: /^secrets\.length === 0$/,
    replacement: /^false$/,
    why: 'it only saves time: nothing is found, so the value stays the same',
  },
  {
    file: 'agent/redact.ts',
    original: /^typeof value !== 'object'$/,
    replacement: /^false$/,
    why: 'a number or a boolean has no entries, so it stays the same',
  },
  {
    file: 'agent/redact.ts',
    original: /^(entries\[index\]\?\.\[[01]\]|\[\])$/,
    why: 'there is an entry for each index, and a default list without secrets finds none',
  },
  {
    file: 'host/host.ts',
    original: /^`the effect .* was requested twice`$/,
    why: 'the words of a message for developers',
  },
  {
    file: 'context/context-guard.ts',
    original: /^windowTokens === null$/,
    replacement: /^false$/,
    why: 'nothing is reserved of a window of null tokens in either case',
  },
  {
    file: 'context/request-meter.ts',
    original: /^(\[\]|\{ tools: \[\], tokens: 0 \})$/,
    why: 'no request has that list of tools, and an unknown call that is left out changes nothing',
  },
  {
    file: 'context/request-meter.ts',
    original: /^(tools === this\.tools\(\)|tools !== this\.offered\.tools)$/,
    why: 'it only saves measuring the same tools again',
  },
  {
    file: 'context/request-meter.ts',
    original: /^message !== undefined$/,
    replacement: /^true$/,
    why: 'the value is never missing there, but the index type allows it',
  },
  {
    file: 'context/tokens.ts',
    original: /^(\[\]|\/\^data:.*)$/,
    why: 'the last media type matches any, and the greedy group reaches the end by itself',
  },
  {
    file: 'model/request-timers.ts',
    original: /^left (>|<) (0|idleTimeoutMs)$/,
    replacement: /^left (>=|<=) (0|idleTimeoutMs)$/,
    why: '0 has returned before, and of two equal times either may be taken',
  },
  {
    file: 'session/commands.ts',
    original: /^typeof seq === 'number'$/,
    replacement: /^true$/,
    why: 'only a number is an integer',
  },
  {
    file: 'observe/calls/past-calls.ts',
    original: /^\[\]$/,
    why: 'no call of a tool is among the default calls in either case',
  },
  {
    file: 'inspect/tape/redacted.ts',
    original: /^\[\]$/,
    why: 'these secrets are replaced before they are read, or remove nothing',
  },
  {
    file: 'inspect/tape/redacted.ts',
    original: /^(entry\.type !== 'stepped'|facts === null)$/,
    replacement: /^false$/,
    why: 'only a step has facts; the types need both checks',
  },
  {
    file: 'workspace/allowed.ts',
    original: /^bare !== undefined$/,
    replacement: /^true$/,
    why: 'the word "undefined" has no signs of a shell',
  },
  {
    file: 'workspace/allowed.ts',
    original: /^\/\^\(\.\*\?\)/,
    replacement: /^\/\(\.\*\?\)/,
    why: 'the first match is at the start in either case',
  },
  {
    file: 'workspace/allowed.ts',
    original: /^(''|\[\])$/,
    why: 'the value is never missing there, but the type allows it',
  },
  {
    file: 'workspace/globs.ts',
    original: /^(''|\[\])$/,
    why: 'the value is never missing there, but the type allows it',
  },
  {
    file: 'workspace/globs.ts',
    original: /^\/\\\*\+\/$/,
    why: 'an empty piece between two stars is found wherever it is looked for',
  },
  {
    file: 'workspace/globs.ts',
    original: /^at < names\.length$/,
    why: 'what is reached beyond the last name is never the end',
  },
  {
    file: 'workspace/globs.ts',
    original: /^\/\^\(\.\*\?\)/,
    why: 'the first match is at the start in either case, and what follows it is all the rest',
  },
  {
    file: 'workspace/inside.ts',
    original: /^dirname\(path\) === path$/,
    replacement: /^false$/,
    why: 'only a drive of Windows can be missing itself',
  },
  {
    file: 'recovery/recording.ts',
    original: /^(''|\[\]|this\.causes\.get\(entry\.scope\)\?\.(push|shift))$/,
    why: 'the value is never missing there, but the type allows it',
  },
  {
    file: 'recovery/recording.ts',
    original: /^(entry\.type === '(offered|stepped|sent)'|facts !== null|tools === null)$/,
    replacement: /^(true|false)$/,
    why: 'no entry of another type has these fields; the types need the check',
  },
  {
    file: 'recovery/growing-session.ts',
    original: /^entries !== this\.known$/,
    replacement: /^true$/,
    why: 'looking again finds nothing new',
  },
  {
    file: 'recovery/recording.ts',
    original: /^(effect\?\.kind( === 'model')?|\{ notice: null, omit: \[\] \})$/,
    replacement: /^(true|\{\}|effect\.kind)$/,
    why: 'the effect of a request is the one that asks the model',
  },
  {
    file: 'recovery/recorded-player.ts',
    original:
      /^('(a replay performs nothing|session\.abort)'|\(\) => (0|Promise\.reject.*)|(\(reason\) => )?\(?\{ type: .*)$/,
    why: 'a replay performs nothing, asks for no chance and has no signal',
  },
  {
    file: 'recovery/recorded-player.ts',
    original: /^(''|\[\]|call\?\.name|\(\) => above\.observer\.position|\(position\) => above\..*)$/,
    why: 'the root alone is asked for its position, and every session below it has a call',
  },
  {
    file: 'recovery/recorded-player.ts',
    original: /^(false|above\?\.head\.sessionId \?\? null|\(\) => input\.at|\(key, at\) => .*replayMark.*)$/,
    why: 'nothing is logged, sighted, suspended or begun by a replay',
  },
  {
    file: 'recovery/replayed-session.ts',
    original: /^(''|[\w.]*\?\.\w+|sighting\.type === 'subAgent\.ended')$/,
    replacement: /^(?!false|.*!==|"")|^"Stryker/,
    why: 'the value is always present, but the type allows it to be missing, and only that sighting has a child that is known',
  },
  {
    file: 'session/wiring.ts',
    original: /^(agent\.voices\.filter.*|name !== null|others\.length === 0)$/,
    why: 'the context of the agent itself is the same in either case',
  },
  {
    file: 'session/wiring.ts',
    original: /^(call === null|parentSessionId === null)( \|\| .*)?$/,
    replacement: /^(false|.* && .*)$/,
    why: 'a session has both or none; the types need both checks',
  },
  {
    file: 'effects/tools.ts',
    original: /^(!tools\.has\(tool\.name\)|subAgents (=|!)== null.*|\[\]|'')$/,
    why: 'names of tools are unique before, and without sub-agents and servers the copy holds the same',
  },
  {
    file: 'effects/effects.ts',
    original: /^(default:[\s\S]*unknown session effect|`unknown session effect)/,
    why: 'the kinds of effects are a closed union',
  },
  {
    file: 'effects/turn-tools.ts',
    original: /^toolPolicies\.length === 0$/,
    replacement: /^false$/,
    why: 'it only saves time: no policy refuses anything',
  },
  {
    file: 'recovery/replay-session.ts',
    original: /^entry\.type === 'begun'$/,
    replacement: /^true$/,
    why: 'no other entry has a key; the types allow to look at it here alone',
  },
  {
    file: 'restate/restate-driver.ts',
    line: /askForChild\(effect\) \|\|/,
    original: /^effect\.kind !== 'tool'$/,
    replacement: /^false$/,
    why: 'an effect of another kind names no tool, so it is neither asked for nor handed out; the types allow to ask a call alone',
  },
  {
    file: 'recovery/resume-all.ts',
    original: /^agent === undefined$/,
    replacement: /^false$/,
    why: 'only sessions of these agents are listed',
  },
  {
    file: 'recovery/resume-all.ts',
    original: /^eventLoop\.isDue$/,
    replacement: /^true$/,
    why: 'a turn more of the event loop changes nothing',
  },
  {
    file: 'restate/restate-driver.ts',
    line: /decision: 'timeout'/,
    original: /^('timeout'|\{ decision: .*)$/,
    replacement: /^(""|\{\})$/,
    why: 'a decision that neither approves nor denies is a timeout to the machines, and nothing else reads it there',
  },
  {
    file: 'session/running-session.ts',
    original: /^(parts\.log === null|this\.log\.scope !== '')$/,
    replacement: /^false$/,
    why: 'a session without a log is never suspended, and only the session at the root is given to callers',
  },
  {
    file: 'session/running-session.ts',
    original: /^(key|call) !== null$/,
    replacement: /^true$/,
    why: 'only a session that waits for the call is asked; the types allow others',
  },
  {
    file: 'session/running-session.ts',
    original: /^(this\.wired\.)?journaled\?\.\w+$/,
    why: 'only a session with a journal gets there; the types allow others',
  },
  {
    file: 'recovery/resume-session.ts',
    original: /^wired\.journaled\?\.\w+$/,
    why: 'every session of a journal has its driver; the types allow others',
  },
  {
    file: 'recovery/resume-session.ts',
    original: /^(log === null|event\.seq > began)$/,
    replacement: /^(false|event\.seq >= began)$/,
    why: 'every session of a journal has a log, and no event has the position at which a life begins',
  },
  {
    file: 'recovery/replay-session.ts',
    original: /^(\[\]|entries\.slice\(upTo\))$/,
    why: 'no text holds these words, and no request among the earlier entries is still open',
  },
  {
    file: 'agent/credential-names.ts',
    original: /^(''|\/\[\^a-z\]\+\/)$/,
    why: 'empty words are left out, and what is before the first word makes no name harmless',
  },
  {
    file: 'agent/secrets.ts',
    original: /^(''|\[\]|\/\^https\?:\$\/)$/,
    why: 'an empty part of a query names no credential, and a protocol ends with its colon',
  },
  {
    file: 'host/deadline.ts',
    original: /^signal\?\.reason$/,
    why: 'the limit ends there only by its signal; the type allows none',
  },
  {
    file: 'agent/written-secrets.ts',
    original: /^(!text\.includes\('\\\\'\)|'\\\\'|text\[at\] === '\\\\'|places\.push\(at\);)$/,
    replacement: /^(false|true|""|;)$/,
    why: 'a text without a backslash reads as it is written, and the place after the last is the end of what was read',
  },
  {
    file: 'model/prompt.ts',
    original: /^(notice === null|last !== undefined|prompt\[index\] !== undefined|last\?\.role === 'assistant')$/,
    replacement: /^true$/,
    why: 'with a notice the result is the same, an index of -1 names no message, and only a message of a model is open',
  },
  {
    file: 'model/prompt.ts',
    original: /^(Math\.max\(0, built\.merged\.length - 1\)|this\.built\.set\(provider, built\);)$/,
    replacement: /^(Math\.min.*|;)$/,
    why: 'forming more messages than the new ones only takes longer',
  },
  {
    file: 'model/prompt.ts',
    original: /^(awaited\.size === 0|omit\.length === 0|message\.role !== 'assistant'|message === undefined)$/,
    replacement: /^false$/,
    why: 'it only saves time: only a message of a model has calls of its provider, and no message is missing',
  },
  {
    file: 'model/prompt.ts',
    original:
      /^(built === undefined \|\| built\.omitted\.size !== omit\.length|part\.type === 'tool-call'|own\.size > 0)$/,
    replacement: /^(true|own\.size >= 0)$/,
    why: 'building it again only takes longer, only calls are run by a provider, and an empty set leaves nothing out',
  },
  {
    file: 'model/prompt.ts',
    original: /^part\.type !== 'tool-call'$/,
    replacement: /^false$/,
    why: 'no other part has the id of an open call',
  },
  {
    file: 'model/prompt.ts',
    original: /^((last|message)\?\.role|index < built\.merged\.length)$/,
    replacement: /^(\w+\.role|index <= built\.merged\.length)$/,
    why: 'the message is never missing there, though the types allow it',
  },
  {
    file: 'model/prompt.ts',
    original: /^awaited\.delete\(at\);$/,
    why: 'an empty set leaves nothing out',
  },
  {
    file: 'model/prompt.ts',
    original: /^case 'user':\s+return \{ \.\.\.message,/,
    why: 'the files of a user and of a model become the same',
  },
  {
    file: 'reply/own-parts.ts',
    original: /^(part\.type === 'tool-call'|case 'file':\s+return true;)$/,
    replacement: /^(true|case 'file':)$/,
    why: 'only calls are run by a provider, and the part that the default returns counts as true',
  },
  {
    file: 'agent/secrets.ts',
    original: /^(typeof model === 'string'|\/\\s\+\/)$/,
    replacement: /^(true|\/\\s\/)$/,
    why: 'only a text names the variable of its key, and the last word is the same',
  },
  {
    file: 'recovery/suspension.ts',
    original: /^(\[\]|\{ once: true \})$/,
    why: 'only a session with a journal is suspended, and the signal aborts once',
  },
  {
    file: 'recovery/fork-session.ts',
    original: /^(id === from \|\| .*|`\$\{from\}\/`)$/,
    replacement: /^(true|``)$/,
    why: 'every session of a tree has the id of the root before its own',
  },
  {
    file: 'host/clock.ts',
    original: /^(2 \*\* 31 - 1|\{\s+now: [\s\S]*|\(\) => Date\.now\(\)|\(dueAt, signal\) => sleep.*)$/,
    why: 'Stryker cannot switch on what runs when the module is loaded; by hand, `test/host/clock.test.ts` catches it',
  },
  {
    file: 'host/clock.ts',
    original: /^(\{ once: true \}|true)$/,
    replacement: /^(\{\}|false)$/,
    why: 'the listener is removed, or its port closed, when it is called',
  },
  {
    file: 'host/event-loop.ts',
    original: /^this\.slice === slice$/,
    replacement: /^false$/,
    why: 'the beginning of a slice and each turn clear it in the same turn of the loop',
  },
  {
    file: 'host/hearing.ts',
    original: /^(listeners\.get\(system\)\?\.take|'implementations' in logic && 'provide' in logic)$/,
    replacement: /^(listeners\.get\(system\)\.take|.* \|\| .*)$/,
    why: 'before there is a listener nothing is emitted, and a machine has both',
  },
  {
    file: 'host/run-machine.ts',
    original: /^(child === undefined|value === null)$/,
    replacement: /^false$/,
    why: 'a child exists, and the value of a state is not null, though the types allow it',
  },
  {
    file: 'host/run-machine.ts',
    original: /^(typeof inner === 'object'( && inner !== null)?|inner !== null)$/,
    replacement: /^(true|.* \|\| .*)$/,
    why: 'the value of a state is a text that is not empty or an object, though the types allow others',
  },
  {
    file: 'host/journaled.ts',
    original: /^(\(key\) => this\.begunAt\.delete\(key\)|'suspending'|written !== null)$/,
    replacement: /^(\(\) => undefined|""|true)$/,
    why: 'no key is used twice, a driver that is not running begins nothing, and to await null only takes a microtask',
  },
  {
    file: 'restate/request.ts',
    original: /^('invalid_options'|(prompt|messages|budget|metadata) !== undefined)$/,
    replacement: /^(""|true)$/,
    why: 'the engine gets the message alone, and an option that is undefined counts as missing',
  },
  {
    file: 'restate/restate-children.ts',
    original: /^(request\.(context|metadata) !== undefined)$/,
    replacement: /^(?!false)/,
    why: 'JSON has no undefined',
  },
  {
    file: 'host/hearing.ts',
    original: /^(\{ \.\.\.actor, src: heard\(actor\.src\) \}|'src')$/,
    why: 'the machines name their actors without an input, though the types of XState allow one',
  },
  {
    file: 'host/memory.ts',
    line: /private working/,
    original: /^false$/,
    replacement: /^true$/,
    why: 'a driver is started, which sets `working`, before it gets a command',
  },
  {
    file: 'journal/replay/replay.ts',
    original: /^default:\s*return;$/,
    replacement: /^default:$/,
    why: 'nothing follows the switch',
  },
  {
    file: 'journal/entries.ts',
    original: /^(one|other)\.type !== 'model\.delta'$/,
    replacement: /^false$/,
    why: 'a delta alone has the number of a part, so another sighting is of no part of it; of two others one check is left',
  },
  {
    file: 'journal/entries.ts',
    original: /^one\.type !== 'model\.delta' \|\| other\.type !== 'model\.delta'$/,
    replacement: / && /,
    why: 'a delta alone has the number of a part, so another sighting is of no part of it',
  },
  {
    file: 'journal/scope-log.ts',
    line: /private facts/,
    original: /^\[\]$/,
    replacement: /^\["Stryker/,
    why: 'each step starts a new list of facts, and no fact comes before the first step',
  },
  {
    file: 'journal/tree-log.ts',
    original: /^this\.tree\?\.(troubled|failed|waiting|receive)$/,
    replacement: /^this\.tree\.\w+$/,
    why: 'a log is connected before it is written or takes a message; until then only its position is asked for',
  },
  {
    file: 'journal/tree-log.ts',
    original: /^this\.lists\.set\(tools, number\);$/,
    why: 'the number is found by the text of the list too, which only takes longer',
  },
  {
    file: 'journal/sqlite/database.ts',
    original: /^(this\.statements\.set\(sql, known\);|eventLoop\.isDue)$/,
    replacement: /^(;|true)$/,
    why: 'a statement that is prepared again, or a turn of the loop that is not due, only takes longer',
  },
  {
    file: 'session/sub-agents/sub-sessions.ts',
    line: /call\?\.name|call === null/,
    original: /^(''|call === null)$/,
    replacement: /^("Stryker was here!"|false)$/,
    why: 'without a call no sub-agent is found, which is refused with the same error',
  },
  {
    file: 'session/sub-agents/sub-agents.ts',
    line: /once: true/,
    original: /^(\{ once: true \}|true)$/,
    replacement: /^(\{\}|false)$/,
    why: 'a signal aborts once',
  },
  {
    file: 'session/recovery/suspension.ts',
    line: /once: true/,
    original: /^true$/,
    replacement: /^false$/,
    why: 'a signal aborts once',
  },
  {
    file: 'tools/running/run-tool.ts',
    original: /^(eventLoop\.isDue|lease\?\.isHeld === false)$/,
    replacement: /^true$/,
    why: 'a turn of the loop that is not due only takes longer, and `owned` waits for nothing if the lease is held',
  },
  {
    file: 'session/recovery/replayed-session.ts',
    line: /defect === undefined \? \[\]/,
    original: /^\[\]$/,
    replacement: /^\["Stryker was here"\]$/,
    why: 'a text has no type, so the difference that is reported is the same, and no step is written without its delivery',
  },
  {
    file: 'session/recovery/replayed-session.ts',
    original: /^root === null$/,
    replacement: /^false$/,
    why: 'the entries begin with the start of the session, which `headOf` has checked',
  },
  {
    file: 'session/recovery/resume-session.ts',
    line: /interrupted \?\? \[\]|decided = \[\]/,
    original: /^\[\]$/,
    replacement: /^\["Stryker/,
    why: 'a session that is resumed has a journaled driver, and no call has that name',
  },
  {
    file: 'tools/mcp/stdio.ts',
    original: /^this\.onerror\?\.\(/,
    replacement: /^this\.onerror\(/,
    why: 'the client of the SDK listens to errors before it starts its transport',
  },
  {
    file: 'tools/mcp/stdio.ts',
    original: /^process\.platform !== 'win32'$/,
    replacement: /^true$/,
    why: 'the tests do not run on Windows',
  },
  {
    file: 'tools/mcp/stdio.ts',
    original: /^64 \* 1_024/,
    replacement: / \/ 1_024$/,
    why: 'Stryker cannot switch on what runs when the module is loaded; by hand, the test of a message without end catches it',
  },
  {
    file: 'tools/service/rest.ts',
    original: /^at < query$/,
    replacement: /^at <= query$/,
    why: 'a placeholder does not begin at a question mark',
  },
  {
    file: 'ui/pause.ts',
    original: /^before !== undefined$/,
    replacement: /^true$/,
    why: 'it changes a count under a name that is not read',
  },
  {
    file: 'ui/pause.ts',
    original: /^state === null$/,
    replacement: /^false$/,
    why: 'the call stays with a state that is not counted',
  },
  {
    file: 'ui/pause.ts',
    original: /^(default:\s*return;|this\.sessions\.delete\(sessionId\);)$/,
    replacement: /^(default:|;)$/,
    why: 'nothing follows the switch, and no event of a session follows its end',
  },
  {
    file: 'workflow/run/spending.ts',
    line: /this\.left\(\[\]\)/,
    original: /^\[\]$/,
    replacement: /^\["Stryker/,
    why: 'a grant without limits takes nothing of what is left',
  },
  {
    file: 'session/result.ts',
    original: /^observer\.folds\.records\.attempt\(\)\?\.reply$/,
    replacement: /\.attempt\(\)\.reply$/,
    why: 'a report by text is the reply of an attempt',
  },
  {
    file: 'tools/service/public-addresses.ts',
    original: /^'ipv6'$/,
    replacement: /^""$/,
    why: 'the Node of the tests takes every family but ipv4 for ipv6',
  },
  {
    file: 'journal/tree-log.ts',
    line: /tree\?\.waiting/,
    original: /^\[\]$/,
    replacement: /^\["Stryker/,
    why: 'a log is connected before it is written, so its tree says which calls wait',
  },
  {
    file: 'session/running-session.ts',
    original: /^('defect' in end|'close'|\(error\) => observer\.userCodeFailed\('close', error\))$/,
    replacement: /^(true|""|\(\) => undefined)$/,
    why: 'closing what is closed does nothing, and closing tells its errors to the observer itself, without rejecting',
  },
  {
    file: 'session/effects/effects.ts',
    original: /^'all'$/,
    replacement: /^""$/,
    why: 'but for a report alone, all tools are offered',
  },
  {
    file: 'session/effects/turn-tools.ts',
    line: /^\s*\? \[\]$/,
    original: /^\[\]$/,
    replacement: /^\["Stryker/,
    why: 'a text among the policies has no name, so it is of no agent',
  },
  {
    file: 'tools/mcp/stdio.ts',
    original: /^(pid !== undefined|'SIGTERM'|this\.onmessage\?\.\(deserializeMessage\(line\)\))$/,
    replacement: /^(true|""|this\.onmessage\(deserializeMessage\(line\)\))$/,
    why: 'a process that ends has an id, no signal is SIGTERM to Node, and the client of the SDK listens before it starts',
  },
  {
    file: 'host/run-machine.ts',
    line: /child === undefined \?/,
    original: /^\[\]$/,
    replacement: /^\["Stryker/,
    why: 'a child exists, though the types allow it to be missing',
  },
  {
    file: 'session/recovery/resume-session.ts',
    line: /&& asks &&/,
    original: /^event\.seq <= began$/,
    replacement: /^event\.seq < began$/,
    why: 'no question has the last position: that is of the suspension, or was left free',
  },
];

/** Returns why a mutant survived, or null if that is unknown. */
export function reasonFor({ file, line, original, replacement }: Survivor): string | null {
  const textOfLine = () => readFileSync(file, 'utf8').split('\n')[line - 1] ?? '';
  const found = equivalents.find(
    (one) =>
      (one.file === undefined || `/${file}`.endsWith(`/${one.file}`)) &&
      one.original.test(original) &&
      (one.replacement?.test(replacement) ?? true) &&
      (one.line?.test(textOfLine()) ?? true),
  );
  return found?.why ?? null;
}
