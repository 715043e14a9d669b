import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // A test that hangs is a defect: nothing here waits for real time beyond fractions of a second.
    testTimeout: 20_000,
    maxWorkers: 2,
    setupFiles: ['test/support/log-lines.setup.ts', 'test/support/leftovers.setup.ts'],
    globalSetup: 'test/support/built.ts',
  },
});
