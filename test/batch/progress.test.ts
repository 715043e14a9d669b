import { describe, expect, it } from 'vitest';
import { ProgressBar, progressLine } from '../../src/batch/progress.ts';

const state = { total: 200, succeeded: 97, failed: 3, running: 8, costUsd: 0.0344, elapsedMs: 60_000 };

describe('the bar of a batch', () => {
  it.each<[number, string]>([
    [100, '████████████████████░░░░░░░░░░░░░░░░░░░░  100 of 200 · 3 failed · 8 running · $0.0344 · 60 s left'],
    [80, '█████████████░░░░░░░░░░░░░  100 of 200 · 3 failed · 8 running · $0.0344 · 60 s left'.slice(0, 80)],
    [60, '100 of 200 · 3 failed · 8 running · $0.0344 · 60 s left'],
    [20, '100 of 200 · 3 faile'],
  ])('within %i columns', (width, line) => {
    const shown = progressLine(state, width);
    expect(shown.length).toBeLessThanOrEqual(width);
    if (width !== 80) expect(shown).toBe(line);
  });

  it('says nothing of what there is none of', () => {
    expect(progressLine({ ...state, succeeded: 0, failed: 0, running: 0, costUsd: null }, 30)).toBe(
      `${'░'.repeat(20)}  0 of 200`,
    );
    expect(progressLine({ ...state, succeeded: 200, failed: 0, running: 0, costUsd: 0 }, 40)).toBe(
      `${'█'.repeat(28)}  200 of 200`,
    );
  });

  it('takes the place of the one before, on the stream that is given', () => {
    const written: string[] = [];
    const out = { columns: 60, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
    const bar = new ProgressBar(out);
    bar.show(state);
    bar.end();
    expect(written).toEqual([`\r\u001b[K100 of 200 · 3 failed · 8 running · $0.0344 · 60 s left`, '\n']);
    expect(() => new ProgressBar(false).show(state)).not.toThrow();
  });
});
