/** `node bench/backlog-reading.ts`: how long a backlog takes to be read, the first time and again, for twice as many items each. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ReadItem, readBacklog } from '../src/workflow/backlog/backlog.ts';
import { KnownItems } from '../src/workflow/backlog/reading/known-items.ts';

let before: [number, number] | null = null;
for (const count of [750, 1_500, 3_000]) {
  const backlog = mkdtempSync(join(tmpdir(), 'pawl-bench-'));
  for (let number = 1; number <= count; number += 1) {
    const folder = join(backlog, 'bugs', `BUG-${String(number).padStart(4, '0')}-item`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'bug_report.json'), JSON.stringify({ title: `Item ${number}`, status: 'new' }));
    writeFileSync(join(folder, 'PROMPT.md'), `# BUG-${number}: Item\n\n**Priority**: P2\n\nMend it.\n`);
    writeFileSync(join(folder, 'comments.md'), 'Seen.\n');
  }
  const known = new KnownItems<ReadItem>();
  const timed = () => {
    const begun = performance.now();
    readBacklog(backlog, known);
    return performance.now() - begun;
  };
  const first = timed();
  const again = Math.min(timed(), timed(), timed());
  const times = before === null ? '' : `, ${(first / before[0]).toFixed(2)} x and ${(again / before[1]).toFixed(2)} x`;
  process.stdout.write(`${count} items: ${first.toFixed(0)} ms, again ${again.toFixed(0)} ms${times}\n`);
  before = [first, again];
  rmSync(backlog, { recursive: true });
}
