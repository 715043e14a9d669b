import { readFileSync } from 'node:fs';

type Position = { line: number; column: number };
type Mutant = {
  mutatorName: string;
  replacement?: string;
  status: string;
  location: { start: Position; end: Position };
};
type Report = { files: Record<string, { source: string; mutants: Mutant[] }> };

/** A mutant that no test caught. */
export type Survivor = MutatedCode;

type MutatedCode = { file: string; line: number; mutator: string; original: string; replacement: string };

/** What became of a file's mutants. `ignored` were not tried. */
export type MutatedFile = {
  file: string;
  killed: number;
  caught: MutatedCode[];
  survivors: Survivor[];
  ignored: number;
};

const noticed = new Set(['Killed', 'Timeout']);
const missed = new Set(['Survived', 'NoCoverage']);

/** Reads Stryker's reports, by file. If several contain a mutant, the last one counts. */
export function mutatedFiles(paths: readonly string[]): MutatedFile[] {
  const files: Report['files'] = {};
  for (const path of paths) {
    const report: Report = JSON.parse(readFileSync(path, 'utf8'));
    for (const [file, found] of Object.entries(report.files)) {
      const known = files[file];
      files[file] =
        known?.source === found.source ? { ...found, mutants: together(known.mutants, found.mutants) } : found;
    }
  }
  return Object.entries(files)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([file, { source, mutants }]) => {
      const those = (statuses: ReadonlySet<string>) =>
        mutants.filter(({ status }) => statuses.has(status)).map((mutant) => codeOf(file, source, mutant));
      const caught = those(noticed);
      const ignored = mutants.filter(({ status }) => status === 'Ignored').length;
      return { file, killed: caught.length, caught, survivors: those(missed), ignored };
    });
}

export const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;

/** Shows code in a cell of a table. */
export const cell = (text: string) =>
  `\`${text.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('`', "'").slice(0, 90)}\``;

function together(known: readonly Mutant[], more: readonly Mutant[]): Mutant[] {
  const key = ({ location, replacement }: Mutant) => JSON.stringify([location, replacement]);
  return [...new Map([...known, ...more].map((mutant) => [key(mutant), mutant])).values()];
}

function codeOf(file: string, source: string, { mutatorName, replacement = '', location }: Mutant): MutatedCode {
  const { start, end } = location;
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const last = lines.length - 1;
  const original = lines
    .map((line, index) => line.slice(index === 0 ? start.column - 1 : 0, index === last ? end.column - 1 : undefined))
    .join('\n');
  return { file, line: start.line, mutator: mutatorName, original, replacement };
}
