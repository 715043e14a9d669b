import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, type Format } from 'esbuild';
import { expect, it } from 'vitest';

/** A program with what is loaded late: a tool with a JSON Schema, and the default logger. */
const program = `
import { defineAgent, runSession } from 'pawl';
import { rehearsalModel } from 'pawl/testing';

const call = (n) => ({ calls: [{ name: 'find', input: { n } }] });
const find = (type) => ({ inputSchema: { type: 'object', properties: { n: { type } } }, execute: ({ n }) => n + 1 });
async function slugs(type) {
  const models = [rehearsalModel([{}, call('x'), call(1), { calls: [{ name: 'final_report', input: { content: 'done' } }] }])];
  const agent = defineAgent({ name: 'bundled', models, tools: { find: find(type) } });
  const { status, turns } = await runSession(agent, { prompt: 'Go.', ...(type === 'strange' && { logger: false }) });
  return [status, ...turns.flatMap(({ attempts }) => attempts.flatMap(({ calls }) => calls.map(({ slug }) => slug)))];
}
async function main() {
  console.log(JSON.stringify([await slugs('integer'), await slugs('strange')]));
}
void main();
`;

// What \`ai\` itself needs in a bundle of this format.
const requireInModules = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

it.each<[Format, string, string]>([
  ['esm', 'bundle.mjs', requireInModules],
  ['cjs', 'bundle.cjs', ''],
])('a bundle for Node runs where no package is installed: %s', async (format, name, banner) => {
  const outfile = join(mkdtempSync(join(tmpdir(), 'pawl-bundle-')), name);
  await build({
    stdin: { contents: program, resolveDir: process.cwd() },
    bundle: true,
    outfile,
    format,
    platform: 'node',
    banner: { js: banner },
    logOverride: { 'empty-import-meta': 'silent' },
  });
  const { stdout, stderr } = spawnSync(process.execPath, [outfile], { encoding: 'utf8' });
  const [first, second] = stdout === '' ? [stderr] : JSON.parse(stdout);
  expect(first).toEqual(['succeeded', 'invalid_tool_input', null, null]);
  // A schema that cannot be used is found at the first check, and is not taken for the model's mistake.
  expect(second).toEqual(['succeeded', 'check_failed', 'check_failed', null]);
  expect(
    stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).slugs),
  ).toEqual([['empty_response'], ['invalid_tool_input']]);
});
