import { expect, it } from 'vitest';
import { byteLength } from '../../src/platform/bytes.ts';
import { headOf, tailOf } from '../../src/platform/text.ts';

it('S-2 C-3: a text is cut between characters, at either end, whatever their length in bytes', () => {
  for (const text of ['abcdefgh', 'äöüßäöüß', '漢字漢字漢字', '😀😀😀😀', 'a😀ä漢b😀', 'e\u0301a\u0300o\u0302']) {
    const whole = byteLength(text);
    for (let bytes = 0; bytes <= whole + 1; bytes += 1) {
      const [head, tail] = [headOf(text, bytes), tailOf(text, bytes)];
      const told = [text, bytes, head, tail];
      expect([...told, text.startsWith(head), text.endsWith(tail)]).toEqual([...told, true, true]);
      expect([...told, byteLength(head) <= bytes, byteLength(tail) <= bytes]).toEqual([...told, true, true]);
      // Not one character more would have fitted.
      const [after = ''] = [...text.slice(head.length)];
      const before = [...text.slice(0, text.length - tail.length)].at(-1) ?? '';
      const fits = [after, before].filter(
        (one, side) => one !== '' && byteLength(one + (side === 0 ? head : tail)) <= bytes,
      );
      expect([...told, fits]).toEqual([...told, []]);
    }
  }
});
