import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isAgent } from '../../agent/definition.ts';
import type { SessionHead } from '../../journal/journal.ts';
import { tapeOf } from '../../journal/tape.ts';
import { tame, wholeWordsOf } from '../../platform/text.ts';
import { recordedHead } from '../../session/replay/recorded-entries.ts';
import { exitCodes, type Flags, UsageError } from '../command-line.ts';
import { sessionRow, withJournal } from './opened-journal.ts';

/** `pawl test`: writes a vitest file that runs the agent of today on what a recorded session was asked and answered. */
export async function testCommand([id, ...rest]: readonly string[], flags: Flags): Promise<number> {
  const { agent, output = `${id}.test.ts` } = flags;
  if (id === undefined || rest.length > 0 || agent === undefined)
    throw new UsageError('Pass one session, and its agent: pawl test ID --agent FILE -o test/ID.test.ts.');
  if (!/\.test\.(ts|js|mts|mjs)$/.test(output))
    throw new UsageError(`-o must name a test, such as ${basename(output, extname(output))}.test.ts; got ${output}.`);
  return withJournal(flags, async (journal) => {
    const { sessionId, status, slugs } = await sessionRow(journal, id);
    const entries = await journal.read(sessionId);
    const head = recordedHead(entries, sessionId);
    const tape = tapeFile(output);
    const exported = await exportedBy(agent);
    for (const file of [output, tape])
      if (existsSync(file)) throw new UsageError(`${file} is there already; name another with -o.`);
    mkdirSync(dirname(resolve(output)), { recursive: true });
    writeFileSync(tape, tapeOf(entries));
    writeFileSync(output, testOf({ head, status, slugs, exported, output }));
    process.stdout.write(`${output}\n${tape}\n`);
    process.stderr.write(`To run it: npx vitest run ${output}\n`);
    return exitCodes.succeeded;
  });
}

type Given = { head: SessionHead; status: string; slugs: readonly string[]; exported: Exported; output: string };

/** What an agent file exports: an agent, its definition, or a function that returns one. */
type Exported = { file: string; kind: 'agent' | 'definition' | 'function' };

async function exportedBy(file: string): Promise<Exported> {
  if (!/\.m?[jt]s$/.test(file)) throw new UsageError(`A test needs an agent in a module of its own; got ${file}.`);
  const { default: exported } = await import(pathToFileURL(resolve(file)).href);
  if (isAgent(exported)) return { file, kind: 'agent' };
  return { file, kind: typeof exported === 'function' ? 'function' : 'definition' };
}

/** How the test makes the agent of what is imported as `exported`. */
const agents: Record<Exported['kind'], string> = {
  agent: 'exported',
  definition: 'defineAgent(exported)',
  function: 'defineAgent(await exported({ root: process.cwd() }))',
};

/** Returns the text of the test. It asks for a success: of a session that failed, it is red until that is mended. */
function testOf({ head, status, slugs, exported: { file, kind }, output }: Given): string {
  const name = wholeWordsOf((head.prompt ?? head.agent).replaceAll(/\s+/g, ' '), 60);
  const was = status === 'succeeded' ? 'It succeeded.' : `It ${status}: ${slugs.join(', ')}.`;
  const from = relative(dirname(resolve(output)), resolve(file))
    .split(sep)
    .join('/');
  const path = from.startsWith('.') ? from : `./${from}`;
  return `import { join } from 'node:path';
import { ${kind === 'agent' ? '' : 'defineAgent, '}runSession } from 'pawl';
import { type PawlMatchers, pawlMatchers, recordedAgent } from 'pawl/testing';
import { expect, it } from 'vitest';
import exported from '${path}';

declare module 'vitest' {
  interface Matchers extends PawlMatchers {}
}
expect.extend(pawlMatchers);

// Recorded as ${tame(head.sessionId)}. ${was}
it(${JSON.stringify(name)}, async () => {
  // The models answer as they did, in order, and so do the tools, but for those in \`realTools\`, whose own code runs.
  const recording = join(import.meta.dirname, '${basename(tapeFile(output))}');
  const { agent, given } = await recordedAgent(${agents[kind]}, recording, { strict: false, realTools: [] });
  const result = await runSession(agent, { ...given, logger: false });
  expect(result).toHaveSucceeded();
});
`;
}

/** The recording of a test is beside it. */
function tapeFile(output: string): string {
  return `${output.replace(/\.test\.\w+$/, '')}.session.jsonl`;
}
