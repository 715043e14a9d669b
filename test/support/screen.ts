/** Returns the lines that a terminal shows after an output, without its colours; the output moves up and clears, as views do. */
export function screenOf(written: string): string[] {
  const rows: string[][] = [[]];
  let [row, column] = [0, 0];
  const code = new RegExp(`${String.fromCharCode(27)}\\[([\\d;?]*)([A-Za-z])`, 'y');
  for (let at = 0; at < written.length; ) {
    code.lastIndex = at;
    const found = code.exec(written);
    if (found !== null) {
      const [whole, count = '', what] = found;
      if (what === 'K' || what === 'J') rows[row]?.splice(column);
      if (what === 'J') rows.splice(row + 1);
      if (what === 'A') row = Math.max(0, row - Number(count || 1));
      at += whole.length;
      continue;
    }
    const character = String.fromCodePoint(written.codePointAt(at) ?? 0);
    at += character.length;
    if (character === '\r') column = 0;
    else if (character === '\n') {
      row += 1;
      rows[row] ??= [];
    } else {
      const line = rows[row] ?? [];
      while (line.length < column) line.push(' ');
      line[column] = character;
      column += 1;
    }
  }
  return rows.map((line) => line.join(''));
}
