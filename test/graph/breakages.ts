import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A rule to break on purpose, as a text replacement in one file. */
export type Breakage = { name: string; file: string; from: string; to: string };
export type Caught = Breakage & { by: string[] };

export const breakages: Breakage[] = [
  {
    name: 'B-2: the bound check is off by one',
    file: 'machines/turn/turn.rules.ts',
    from: 'return attempt < maxAttempts;',
    to: 'return attempt <= maxAttempts;',
  },
  {
    name: 'B-4: a collapse grows maxTurns',
    file: 'machines/contract/limits.ts',
    from: 'return Math.min(maxTurns, turn + 1);',
    to: 'return Math.max(maxTurns, turn + 1);',
  },
  {
    name: 'C-1: an answer is lost',
    file: 'src/observe/conversation.ts',
    from: 'if (results.length > 0) this.messages.push',
    to: 'if (results.length > 1) this.messages.push',
  },
  {
    name: 'S-2: a log line is repeated',
    file: 'src/observe/log/session-log.ts',
    from: '    onRejection(logger[level](ownCopy(fields), message),',
    to: '    logger[level](ownCopy(fields), message);\n    onRejection(logger[level](ownCopy(fields), message),',
  },
  {
    name: 'T-3: the failure of one attempt leaks into the next',
    file: 'machines/attempt/attempt.rules.ts',
    from: "if (reading.complete && (reading.holds === 'open' || answers.some(isProgress)))\n    return { status: 'progressed', slugs: [] };",
    to: "if (reading.complete && answers.some(isProgress) && !leaked) return { status: 'progressed', slugs: [] };\n  leaked = true;",
  },
];

/** Rules whose breach shows in no machine alone, only in all of them together. */
export const breakagesOfTheWhole: Breakage[] = [
  {
    name: 'B-2: a session gives each turn an attempt too many',
    file: 'machines/session/session.rules.ts',
    from: "=== 'many' ? attemptsOf(context) : 1",
    to: "=== 'many' ? attemptsOf(context) + 1 : 1",
  },
  {
    name: 'B-5: a session does not tell a turn that it is the last',
    file: 'machines/session/session.rules.ts',
    from: '    isLastTurn: isLastTurn(context),\n    lastTurnSlugs,',
    to: '    isLastTurn: false,\n    lastTurnSlugs,',
  },
  {
    name: 'P-2: a turn begins with the first target, not with the last one used',
    file: 'machines/session/session.rules.ts',
    from: 'order: planned ?? orderFrom(targets, current)',
    to: 'order: planned ?? orderFrom(targets, 0)',
  },
  {
    name: 'B-4: a rejected report collapses nothing',
    file: 'machines/turn/turn.rules.ts',
    from: 'if (last.reportSlugs.length > 0) {',
    to: 'if (last.reportSlugs.length > 99) {',
  },
  {
    name: 'B-7: an attempt forgets what its sub-agents spent',
    file: 'machines/attempt/attempt.rules.ts',
    from: 'subAgentsSpent: answers.map((answer) => answer.spent).reduce(spentTogether, nothingSpent)',
    to: 'subAgentsSpent: answers.map(() => nothingSpent).reduce(spentTogether, nothingSpent)',
  },
];

const parts = [
  'machines',
  'src',
  'test',
  'scripts',
  'docs',
  'visualizations',
  'bench',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'vitest.config.ts',
  'README.md',
];
const quick = [
  'test/machines',
  'test/paths',
  'test/properties',
  'test/scenarios/bound.test.ts',
  'test/scenarios/answers.test.ts',
  'test/scenarios/observation.test.ts',
];

/** Breaks each rule in a copy of the project, and returns what noticed it there: by default, the quick tests that failed. */
export function breakEach(
  broken: readonly Breakage[] = breakages,
  noticedIn: (folder: string) => string[] = (folder) => failing(folder),
): Caught[] {
  return broken.map((breakage) => {
    const copy = mkdtempSync(join(tmpdir(), 'pawl-broken-'));
    try {
      for (const part of parts) cpSync(part, join(copy, part), { recursive: true });
      symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
      const file = join(copy, breakage.file);
      const whole = readFileSync(file, 'utf8');
      if (!whole.includes(breakage.from))
        throw new Error(`${breakage.file} has changed; cannot break "${breakage.name}"`);
      const flag = breakage.to.includes('leaked') ? '\nlet leaked = false;\n' : '';
      writeFileSync(file, `${whole.replace(breakage.from, breakage.to)}${flag}`);
      return { ...breakage, by: noticedIn(copy) };
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
}

type Report = { testResults: { name: string; assertionResults: { status: string; fullName: string }[] }[] };

/** Returns the tests that fail in a folder, of the given files and folders. */
export function failing(folder: string, given: readonly string[] = quick): string[] {
  const file = join(folder, 'report.json');
  const vitest = resolve('node_modules/vitest/vitest.mjs');
  const env = { ...process.env, PAWL_WALKS: 'small' };
  spawnSync(process.execPath, [vitest, 'run', ...given, '--reporter=json', `--outputFile=${file}`], {
    cwd: folder,
    env,
    stdio: 'ignore',
  });
  const report: Report = JSON.parse(readFileSync(file, 'utf8'));
  const ran = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  if (ran.length === 0) return ['no test can run'];
  return ran.flatMap(({ status, fullName }) => (status === 'failed' ? [fullName] : []));
}

/** Returns the verified commit, with a mark if files differ from it. */
export function revision(): string {
  return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim();
}
