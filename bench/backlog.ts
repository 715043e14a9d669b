import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { readBacklog, stopMarkers } from '../src/workflow/backlog/backlog.ts';
import { runWorkflow } from '../src/workflow/index.ts';

/**
 * Scans a backlog of `count` bugs, compares that with just reading the same files, then works through 50 of them with
 * a function that does nothing.
 */
export async function backlogBench(count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-bench-'));
  try {
    const items = Array.from({ length: count }, (_, number) => `bugs/BUG-${String(number + 1).padStart(3, '0')}-bug`);
    for (const [number, item] of items.entries()) {
      mkdirSync(join(folder, item), { recursive: true });
      const report = { title: `Bug ${number}`, priority: `P${number % 4}`, description: 'It is broken. '.repeat(50) };
      writeFileSync(join(folder, item, 'bug_report.json'), JSON.stringify(report));
      writeFileSync(join(folder, item, 'comments.md'), '# Comments\n\nNothing yet.\n'.repeat(10));
    }
    const bare = median(() => {
      for (const item of items) {
        JSON.parse(readFileSync(join(folder, item, 'bug_report.json'), 'utf8'));
        readFileSync(join(folder, item, 'comments.md'), 'utf8');
      }
    });
    const scan = median(() => stopMarkers(folder, 'none', readBacklog(folder).items));
    process.stdout.write(
      `scanning a backlog of ${count} items: ${scan.toFixed(0)} ms, ${(scan / bare).toFixed(2)} x just reading its files\n`,
    );
    const began = performance.now();
    const { succeeded } = await runWorkflow({
      backlog: folder,
      agents: { process: () => ({ status: 'succeeded' }) },
      limits: { maxItems: 50 },
      logger: pino({ level: 'silent' }),
    });
    if (succeeded.length !== 50) throw new Error('not all items succeeded in the benchmark');
    process.stdout.write(
      `working through 50 of them: ${((performance.now() - began) / 50).toFixed(0)} ms each, including the scans in between\n`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function median(work: () => void): number {
  const times = Array.from({ length: 9 }, () => {
    const began = performance.now();
    work();
    return performance.now() - began;
  });
  return times.toSorted((one, other) => one - other)[4] ?? Number.NaN;
}
