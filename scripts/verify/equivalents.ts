import type { Survivor } from './mutants.ts';

/** Mutants that got past: where, what was changed, and why it makes no difference, or who else would notice. */
type Equivalent = { file?: string; original: RegExp; replacement?: RegExp; why: string };

const equivalents: Equivalent[] = [
  {
    original: /^default:/,
    why: 'a switch over a closed union: `satisfies never` shows that nothing else comes here',
  },
  {
    file: 'attempt.rules.ts',
    original: /^(disposition === undefined|\[\])$/,
    why: 'what it stands for is never missing there; the type does not know that',
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
    why: 'the words of a reading that stands for none are not read',
  },
  {
    file: 'attempt.rules.ts',
    original: /^index === null$/,
    replacement: /^false$/,
    why: 'no call has the index null, so that looking for it finds nothing either',
  },
  {
    file: 'attempt.rules.ts',
    original: /^verdict\?\.valid === true$/,
    replacement: /^true$/,
    why: 'what was accepted is valid',
  },
  {
    file: 'attempt.rules.ts',
    original: /^(outcome\.calls\[index\]\?\.\w+|call\?\.report|verdict\?\.valid|context\.reading\?\.\w+)$/,
    why: 'it is always there; the type does not know that',
  },
  {
    file: 'incident.rules.ts',
    original: /^''$/,
    why: 'a text always has a first line; the type of an index does not know that',
  },
  {
    file: 'item.rules.ts',
    original: /^\/\^\[\^\/\]\+\/$/,
    why: 'the first match is at the start in either case',
  },
  {
    file: 'batch.ts',
    original: /^(''|part\.type === 'text')$/,
    why: 'all parts are texts there; the type does not know that',
  },
  {
    file: 'conversation.ts',
    original: /^clean\.slice\(0, 63\)$/,
    why: 'no name that every object has is that long',
  },
  {
    file: 'faults.ts',
    original: /^'(rate_limited|invalid_request)'$/,
    why: 'the slug of this fault is its own name, which comes out by the default too',
  },
  {
    file: 'repair.ts',
    original: /^\[\]$/,
    why: 'an id that no call has is never looked for',
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
    why: 'only assistants have calls, and a call that is looked for is known',
  },
  {
    file: 'reply.ts',
    original: /^\[\]$/,
    why: 'an id that no call has is never looked for',
  },
  {
    file: 'repair.ts',
    original: /^(list\.splice.*|part\.type [!=]== 'tool-call')$/,
    why: 'only calls have the field that is asked for beside it; what was found is there',
  },
  {
    file: 'reply.ts',
    original: /^'(file|reasoning-file|custom)'$/,
    why: 'the part comes out by the default too',
  },
  {
    file: 'targets.ts',
    original: /^(step < targets\.length|state === undefined)$/,
    why: 'the first one is looked at twice, with the same answer; each index has a state',
  },
  {
    file: 'tool-input.ts',
    original: /^'not JSON'$/,
    why: 'what JSON.parse throws is an Error',
  },
  {
    file: 'tool-input.ts',
    original: /^(text\.length > 2 \* deepest|2 \* deepest)$/,
    why: 'a shortcut: a text that is shorter cannot be that deep',
  },
  {
    file: 'tool-input.ts',
    original: /^index < json\.length$/,
    why: 'beyond the end there is no character',
  },
  {
    file: 'repair.ts',
    original: /^(message\.role === 'user'|'user'|\{\s+const content = message\.content\.filter[\s\S]*)$/,
    why: 'a message of the user comes out the same by the way of the others',
  },
  {
    file: 'leaf.ts',
    original: /^\(snapshot\) => snapshot$/,
    why: 'nothing persists a leaf yet',
  },
  {
    file: 'incident.rules.ts',
    original: /^(text\.replace.*|line\.trimEnd\(\))$/,
    why: 'a blank end is cut off once more, or shows nowhere',
  },
  {
    original: /^\{\s+context: \{\} as /,
    why: 'types: they are gone when it runs',
  },
  {
    file: 'attempt.machine.ts',
    original: /^(\[\]|''|\{ callId: '', name: '' \}|reading\?\.calls|context\.reading\?\.calls)$/,
    why: 'calls come after their reply has been read; the type does not know that',
  },
  {
    original: /^event\.type [!=]== 'session\.(stop|abort)' (&&|\|\|) event\.type [!=]== 'session\.(stop|abort)'$/,
    why: 'no other event leads there; the type of an action does not know that',
  },
  {
    file: 'turn.machine.ts',
    original:
      /^(\[\]|''|last\?\.slugs|targets\[current\]\?\.name|context\.targets\[.*\]\?\.name|context\.waiting\?\.\w+)$/,
    why: 'it is always there; the type does not know that',
  },
  {
    file: 'turn.machine.ts',
    original: /^choice\.kind === '(free|wait)'$/,
    replacement: /^true$/,
    why: 'the guard of the arrow has seen to that',
  },
  {
    file: 'turn.machine.ts',
    original: /^output === 'finished' \|\| /,
    replacement: /^true$/,
    why: 'exhausted is the one output left',
  },
  {
    file: 'session.machine.ts',
    original: /^('internal_error'|context\.ending\?\.status)$/,
    why: 'a session that ends has its ending; the type does not know that',
  },
  {
    file: 'tool-call.machine.ts',
    original: /^(\{ executed: false, .*|false|'internal_error')$/,
    why: 'a call that ends has its answer; the type does not know that',
  },
  {
    file: 'workflow.setup.ts',
    original: /^(\[\]|outcome\.kind !== 'crashed')$/,
    why: 'the guard of the arrow has seen to that',
  },
  {
    file: 'workflow.setup.ts',
    original: /^'settingAside'$/,
    why: 'the phase is told with problems, and there are none',
  },
  {
    file: 'workflow.machine.ts',
    original: /^'capturing'$/,
    why: 'the action names the phase itself',
  },
];

/** Why a mutant got past; null where nobody knows. */
export function reasonFor({ file, original, replacement }: Survivor): string | null {
  const found = equivalents.find(
    (one) =>
      (one.file === undefined || file.endsWith(one.file)) &&
      one.original.test(original) &&
      (one.replacement?.test(replacement) ?? true),
  );
  return found?.why ?? null;
}
