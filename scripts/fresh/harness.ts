/** `npm run fresh -- harness`: the packed package under the AI SDK's `HarnessAgent`, in a folder as its sandbox. */
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const example = join(import.meta.dirname, '../../examples/harness');
const expected = 'tool-call tool-result text Take an umbrella.';

/** Throws if the program of examples/harness says something else than it should. */
export async function tryHarness(tarball: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-harness-'));
  const run = promisify(execFile);
  try {
    cpSync(example, folder, { recursive: true });
    await run('npm', ['install', '--ignore-scripts', '--silent', '--no-audit', '--no-fund'], { cwd: folder });
    // In the sandbox npm has another home, and not the certificates that this one's npm is set to trust.
    const cafile = execFileSync('npm', ['config', 'get', 'cafile'], { encoding: 'utf8' }).trim();
    const env = {
      ...process.env,
      ...(cafile !== 'null' && { npm_config_cafile: cafile }),
      PATH: `${join(folder, 'node_modules/.bin')}:${process.env.PATH}`,
    };
    const { stdout } = await run(process.execPath, ['main.js', tarball], { cwd: folder, env, timeout: 180_000 });
    if (stdout.trim() !== expected) throw new Error(`the agent in the sandbox said ${stdout}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const { dependencies } = JSON.parse(readFileSync(join(example, 'package.json'), 'utf8'));
  return `@ai-sdk/harness ${dependencies['@ai-sdk/harness']}, @ai-sdk/harness-acp ${dependencies['@ai-sdk/harness-acp']}`;
}
