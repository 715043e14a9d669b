import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { temporaryFolder } from './temporary.ts';

/** Puts a shell script in place of git until the test ends. In it, `"$GIT"` is the real one. */
export function gitThat(script: string): void {
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'git'), `#!/bin/sh\nGIT=${real}\n${script}\n`);
  chmodSync(join(folder, 'git'), 0o755);
  const before = process.env.PATH ?? '';
  vi.stubEnv('PATH', `${folder}${delimiter}${before}`);
  onTestFinished(() => void vi.stubEnv('PATH', before));
}
