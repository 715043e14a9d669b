/**
 * `npm run moving`: runs the programs of examples/moving, which do the same with Pawl and with other libraries, over a
 * real wire on which replies go wrong, and compares what they print with the table of docs/guides/moving.md.
 * `npm run moving -- write` writes that table. Needs the npm registry.
 */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RecordedRequest, type ScriptedResponse, startModelServer } from '../../src/testing/index.ts';
import { installPacked } from '../release/packed.ts';

const root = join(import.meta.dirname, '../..');
const home = join(root, 'node_modules', '.cache', 'pawl-moving');
const guide = join(root, 'docs/guides/moving.md');
/** A program that takes longer hangs, in ms. */
const longest = 60_000;

const programs = {
  pawl: 'Pawl',
  'ai-sdk': 'AI SDK',
  'openai-agents': 'Agents SDK',
  langgraph: 'LangChain',
  mastra: 'Mastra',
};

/** What comes instead of a right reply, by the number of the request. */
const faults: Record<string, (index: number) => ScriptedResponse | null> = {
  'all replies are right': () => null,
  'the first is empty': (index) => (index === 0 ? {} : null),
  'the first calls a tool that is not there': (index) =>
    index === 0 ? { calls: [{ name: 'find_book', input: { title: 'Ulysses' } }] } : null,
  'the first has input that is cut off': (index) =>
    index === 0 ? { calls: [{ name: 'search', input: '{"title":"Uly' }] } : null,
  'the first breaks off': (index) =>
    index === 0 ? { text: 'Let me look.', cut: { afterBytes: 60, how: 'end' } } : null,
  'the first says only what it will do': (index) => (index === 0 ? { text: 'I will look it up.' } : null),
  'every reply calls the tool again': (index) => ({
    calls: [{ name: 'search', input: { title: `Ulysses ${index}` } }],
  }),
};

/** Looks the book up, then says where it is. */
function rightReply({ body }: RecordedRequest): ScriptedResponse {
  const text = JSON.stringify(body);
  if (!text.includes('J-12')) return { calls: [{ name: 'search', input: { title: 'Ulysses' } }] };
  const content = 'On shelf J-12.';
  const reports = body.tools?.some(({ name, function: made }) => [name, made?.name].includes('final_report'));
  return reports === true
    ? { calls: [{ name: 'final_report', input: { status: 'success', content } }] }
    : { text: content };
}

function install(): void {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'examples/moving/package.json'), 'utf8'));
  const packages = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`);
  installPacked(root, home, packages);
  cpSync(join(root, 'examples/moving'), home, { recursive: true });
}

/** What a program prints, or the name of its error, and how many requests it sent. */
async function outcomeOf(program: string, fault: (index: number) => ScriptedResponse | null): Promise<string> {
  const server = await startModelServer((request, index) => fault(index) ?? rightReply(request));
  const env = {
    ...process.env,
    OPENAI_BASE_URL: server.url,
    OPENAI_API_KEY: 'none',
    OPENAI_AGENTS_DISABLE_TRACING: '1',
  };
  const child = spawn(process.execPath, [join(home, `${program}.js`)], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  const late = setTimeout(() => child.kill('SIGKILL'), longest);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(late);
  const sent = server.requests.length;
  await server.close();
  const [, thrown = 'error'] =
    /^(?:Uncaught )?\[?(\w*Error)\b/m.exec(errors) ?? /(?:new |name: ')(\w+Error)\b/.exec(errors) ?? [];
  const said = output.trim() === '' ? 'nothing' : `\`${output.trim().replaceAll(/\s+/g, ' ')}\``;
  if (code === null) return `hangs (${sent})`;
  return `${code === 0 ? said : `throws \`${thrown}\``} (${sent})`;
}

async function table(): Promise<string> {
  const names = Object.keys(programs) as (keyof typeof programs)[];
  const rows: string[][] = [];
  for (const [what, fault] of Object.entries(faults))
    rows.push([what, ...(await Promise.all(names.map((name) => outcomeOf(name, fault))))]);
  const head = ['what comes over the wire', ...names.map((name) => programs[name])];
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

const cells = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[\s|-]+$/.test(line))
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .join('|'),
    )
    .join('\n');

install();
const found = await table();
const document = readFileSync(guide, 'utf8');
const place = /(<!-- Written by `npm run moving -- write`\. -->\n\n)([\s\S]*?)(\n\n<!-- The end of it\. -->)/;
const [, , written = ''] = place.exec(document) ?? [];
if (process.argv[2] === 'write') {
  writeFileSync(
    guide,
    document.replace(place, (_, before, __, after) => `${before}${found}${after}`),
  );
  execFileSync('npx', ['biome', 'check', '--write', guide], { cwd: root, stdio: 'ignore' });
} else if (cells(found) !== cells(written)) {
  process.stderr.write(`The programs print something else than docs/guides/moving.md says:\n${found}\n`);
  process.exitCode = 1;
}
