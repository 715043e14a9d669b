import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('a turn allocates less than 450 KB more than a bare loop does: a count, with a third to spare', () => {
  const said = execFileSync(process.execPath, ['--no-warnings', 'bench/bytes.ts', '--quick'], { encoding: 'utf8' });
  const kilobytes = new Map([...said.matchAll(/text, (\w+): (\d+)/g)].map(([, name, kb]) => [name, Number(kb)]));
  const [bare = 0, pawl = 0] = [kilobytes.get('bare'), kilobytes.get('pawl')];
  expect(bare).toBeGreaterThan(100);
  expect(pawl).toBeGreaterThan(bare);
  expect(pawl - bare).toBeLessThan(450);
});
