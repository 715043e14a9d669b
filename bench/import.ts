/**
 * `node bench/import.ts`: the CPU of `import 'pawl'` as a multiple of that of `import 'ai'`, in one run. Also a part of
 * `npm run bench`; needs `npm run build`.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const rounds = 15;
const modules = { ai: 'node_modules/ai/dist/index.js', pawl: 'dist/src/index.js', machines: 'dist/machines/index.js' };

function cpuMs(file: string): number {
  const program = `import('${join(process.cwd(), file)}').then(() => {
    const { user, system } = process.cpuUsage();
    console.log((user + system) / 1_000);
  })`;
  return Number(execFileSync(process.execPath, ['--eval', program], { encoding: 'utf8' }));
}

export function importBench(): void {
  const times = Object.fromEntries(Object.keys(modules).map((name): [string, number[]] => [name, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [name, file] of Object.entries(modules)) times[name]?.push(cpuMs(file));
  const median = (name: string) => times[name]?.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN;
  for (const name of Object.keys(modules)) {
    const ratio = (median(name) / median('ai')).toFixed(2);
    process.stdout.write(`import ${name}: ${median(name).toFixed(0)} ms of CPU, ${ratio} x ai\n`);
  }
}

if (process.argv[1] === import.meta.filename) importBench();
