import { describe, it } from 'vitest';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { journalConformance } from '../../src/testing/index.ts';

describe('D-3: a journal in memory keeps its promises while the process lives', () => {
  const kept = new MemoryJournal({ leaseMs: 1_000 });
  for (const { name, check } of journalConformance(() => kept)) it(name, check);
});
