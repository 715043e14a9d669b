import { defineConfig } from 'vitest/config';

/** The tests that mutants of `src/` have to get past: those of sessions that need no other process. */
export default defineConfig({
  test: {
    include: [
      'test/{agent,host,session,simulation,journal,scenarios,tools,report,observe}/**/*.test.ts',
      'test/inspect/{redaction,memory-journal}.test.ts',
    ],
    exclude: [
      'test/**/{kill,crash,disk,postgres,browser,types,fresh,processes}.test.ts',
      'test/tools/mcp/**',
      'test/tools/hostile-schemas.test.ts',
    ],
    setupFiles: ['test/support/log-lines.setup.ts'],
    testTimeout: 25_000,
  },
});
