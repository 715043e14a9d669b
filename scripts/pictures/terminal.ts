import { spawn } from 'node:child_process';

/** Columns of a terminal, and the size of its characters, in px. */
const columns = 92;
const [across, down, size] = [8, 18, 13.3];
const [left, top] = [16, 40];
/** How much slower than it ran the recording is shown: the demo's model answers at once. */
const slower = 40;

type Style = Partial<Record<'bold' | 'dim' | 'italic' | 'underline' | 'inverse', boolean>> & { color?: string };
type Cell = { text: string; style: Style };
/** A line, and when it was first whole, in ms. */
type Row = { cells: Cell[]; at: number };

const colors: Record<string, string> = {
  31: '#ff7b72',
  32: '#7ee787',
  33: '#e3b341',
  34: '#79c0ff',
  35: '#d2a8ff',
  36: '#76e3ea',
};
const ons: Record<string, Style> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
};
const offs: Record<string, (keyof Style)[]> = {
  0: ['bold', 'dim', 'italic', 'underline', 'inverse', 'color'],
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  39: ['color'],
};

/** Runs a command on a terminal, and returns it as an SVG whose lines appear as they came. */
export async function terminalPicture(title: string, command: readonly string[]): Promise<string> {
  const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 60; exec ${quoted}`, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm-256color' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const screen = new Recorded();
  let begun: number | null = null;
  for await (const data of child.stdout.setEncoding('utf8')) {
    begun ??= Date.now();
    screen.write(String(data), Date.now() - begun);
  }
  return svgOf(title, screen.rows);
}

/** The screen of a terminal, with its styles. */
class Recorded {
  readonly rows: Row[] = [{ cells: [], at: 0 }];
  private row = 0;
  private column = 0;
  private style: Style = {};

  write(text: string, at: number): void {
    for (const [whole, count = '', what] of text.matchAll(
      new RegExp(`${String.fromCharCode(27)}\\[([\\d;?]*)([A-Za-z])|[\\s\\S]`, 'gu'),
    )) {
      if (what === 'm') this.paint(count);
      else if (what === 'K' || what === 'J') {
        this.rows[this.row]?.cells.splice(this.column);
        if (what === 'J') this.rows.splice(this.row + 1);
      } else if (what === 'A') this.row = Math.max(0, this.row - Number(count || 1));
      else if (what === undefined) this.put(whole, at);
    }
  }

  private put(character: string, at: number): void {
    if (character === '\r') this.column = 0;
    else if (character === '\n') {
      this.row += 1;
      this.rows[this.row] ??= { cells: [], at };
    } else {
      const row = this.rows[this.row];
      if (row === undefined) return;
      row.cells[this.column] = { text: character, style: this.style };
      row.at = at;
      this.column += 1;
    }
  }

  private paint(codes: string): void {
    for (const code of codes.split(';')) {
      const style = { ...this.style, ...ons[code] };
      for (const name of offs[code || '0'] ?? []) delete style[name];
      this.style = code in colors ? { ...style, color: colors[code] ?? '' } : style;
    }
  }
}

function svgOf(title: string, rows: readonly Row[]): string {
  const shown = rows.slice(0, rows.findLastIndex(({ cells }) => cells.length > 0) + 1);
  const [width, height] = [2 * left + columns * across, top + shown.length * down + 14];
  const lines = shown.map(({ cells, at }, index) => {
    const y = top + (index + 1) * down - 4;
    const delay = (at * slower) / 1_000;
    return `<g class="line" style="animation-delay:${delay.toFixed(2)}s">${runs(cells)
      .map((run) => textOf(run, y))
      .join('')}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
<style>
text { font: ${size}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }
.line { animation: appear 0s both; }
@keyframes appear { from { opacity: 0; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { .line { animation: none; } }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
<circle cx="18" cy="18" r="5" fill="#ff5f57"/><circle cx="36" cy="18" r="5" fill="#febc2e"/><circle cx="54" cy="18" r="5" fill="#28c840"/>
${lines.filter((line) => line.includes('<text')).join('\n')}
</svg>
`;
}

type Run = { text: string; style: Style; column: number };

/** Neighbours of one style, as one text. */
function runs(cells: readonly (Cell | undefined)[]): Run[] {
  const found: Run[] = [];
  for (const [column, cell] of [...cells].entries()) {
    const { text, style } = cell ?? { text: ' ', style: {} };
    const last = found.at(-1);
    if (last !== undefined && JSON.stringify(last.style) === JSON.stringify(style)) last.text += text;
    else found.push({ text, style, column });
  }
  return found.filter(({ text, style }) => text.trim() !== '' || style.inverse === true);
}

/** A text, held to its columns whatever the font. */
function textOf({ text, style, column }: Run, y: number): string {
  const [x, length] = [left + column * across, [...text].length * across];
  const { color = style.inverse ? '#0d1117' : '#e6edf3' } = style;
  const back = style.inverse ? `<rect x="${x}" y="${y - 14}" width="${length}" height="${down}" fill="#e6edf3"/>` : '';
  const marks = [
    `fill="${color}"`,
    ...(style.bold ? ['font-weight="bold"'] : []),
    ...(style.dim ? ['fill-opacity="0.65"'] : []),
    ...(style.italic ? ['font-style="italic"'] : []),
    ...(style.underline ? ['text-decoration="underline"'] : []),
  ];
  return `${back}<text x="${x}" y="${y}" textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve" ${marks.join(' ')}>${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
