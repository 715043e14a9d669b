import { defineConfig } from 'vitest/config';

/** The tests that mutants of the machines have to get past: the quick ones. */
export default defineConfig({
  test: {
    include: [
      'test/machines/**/*.test.ts',
      'test/paths/**/*.test.ts',
      'test/scenarios/{bound,answers,notice,report,stop-and-abort,budget-and-context,determinism,tool-kinds,providers}.test.ts',
    ],
    testTimeout: 20_000,
  },
});
