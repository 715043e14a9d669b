import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // For tests that hang, on the slowest machine: nothing here waits for real time beyond fractions of a second.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What a test polls for, too, comes late on a slow machine.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
    setupFiles: ['test/support/log-lines.setup.ts', 'test/support/leftovers.setup.ts'],
    globalSetup: 'test/support/built.ts',
  },
});
