import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { promptFacts } from '../../src/workflow/backlog/reading/prompt-file.ts';
import { similarity } from '../../src/workflow/backlog/similarity.ts';
import { stopRequestIn } from '../../src/workflow/backlog/stop-marker.ts';

describe('parsing human text', () => {
  it.each([
    ['STOP', ''],
    ['  **STOP** ', ''],
    ['## STOP: do this', 'do this'],
    ['- STOP - do that', 'do that'],
    ['STOP\n\nDo this.\nAnd that.\n\n## Later\n\nNot this.', 'Do this.\nAnd that.'],
    ['Words before.\n\nSTOP! Now', 'Now'],
    ['[STOP]', ''],
    ['[STOP]: wait for Ada', 'wait for Ada'],
    ['[STOP] wait for Ada', 'wait for Ada'],
    ['- **[STOP]** wait for Ada', 'wait for Ada'],
    ['- [ ] STOP: buy it', 'buy it'],
    ['* [ ] **STOP**: buy it', 'buy it'],
    ['1. STOP: buy it', 'buy it'],
    ['Status: STOP', ''],
    ['**Status**: STOP', ''],
    ['2026-11-22 STOP: the freeze', 'the freeze'],
    ['2026-11-22: STOP', ''],
    ['[2026-11-22 10:30] STOP - the freeze', 'the freeze'],
    ['- 2026-11-22T10:30:00Z – STOP', ''],
    ['<!-- STOP -->', ''],
    ['<!-- STOP: the freeze -->', 'the freeze'],
    ['STOP — the freeze', 'the freeze'],
    ['```in a line```\nSTOP', ''],
    ['````\n```\n````\nSTOP', ''],
    ['- ```\n  code\n  ```\n\nSTOP', ''],
    ['1. * ~~~\n  code\n  ~~~\nSTOP', ''],
    ['```\n- ```\n```\nSTOP', ''],
  ])('W-1: %j is a STOP', (text, request) => {
    expect(stopRequestIn(text)?.request).toBe(request);
  });

  it.each([
    'STOP-gap measures',
    'STOP words are left out',
    'STOP the press',
    '- [x] STOP: done',
    'NOSTOP: x',
    'STOP_WORDS: x',
    '',
    'Do not STOP here.',
    'STOPPED working',
    'stop',
    '> STOP',
    '```\nSTOP\n```',
    '````\n```\nSTOP\n```\n````',
    '~~~\n```\nSTOP\n~~~~',
    '- ```\n  STOP\n  ```',
    '```\n``` text\nSTOP\n```',
    'STOPS',
    'NONSTOP',
  ])('W-1: %j is not a STOP', (text) => {
    expect(stopRequestIn(text)).toBeNull();
  });

  it('hostile text is read in time', () => {
    const hostile = `STOP: x\n${'component: '.repeat(20_000)}\n${`component:${' *'.repeat(50_000)}x\n`.repeat(3)}`;
    expect(stopRequestIn(hostile)?.component).toContain('component:');
    expect(promptFacts(`# It\n\n** a${' '.repeat(200_000)}\n**Priority**: P1\n`).fields.get('priority')).toBe('P1');
  });

  it('similarity ranges from 0 to 1, is symmetric, and is 1 for equal items', () => {
    const described = fc.record({ title: fc.string(), description: fc.string() });
    fc.assert(
      fc.property(described, described, (one, other) => {
        const value = similarity(one, other);
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
        expect(similarity(other, one)).toBeCloseTo(value);
        expect(similarity(one, one)).toBeCloseTo(1);
      }),
    );
  });
});
