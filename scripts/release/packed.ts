import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Installs packages into a folder of their own, and with them Pawl as it is packed. `packages`: names with versions. The
 * folder keeps what it has installed, for the next time.
 */
export function installPacked(root: string, home: string, packages: readonly string[]): void {
  mkdirSync(home, { recursive: true });
  for (const file of readdirSync(home).filter((name) => name.endsWith('.tgz'))) rmSync(join(home, file));
  const packed = ['pack', '--ignore-scripts', '--silent', '--pack-destination', home];
  const tarball = execFileSync('npm', packed, { cwd: root, encoding: 'utf8' }).trim();
  writeFileSync(join(home, 'package.json'), '{"private":true,"type":"module"}');
  const wanted = [...packages, join(home, tarball)];
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...wanted], { cwd: home, stdio: 'ignore' });
}
