import { defineConfig } from 'vitest/config';

/** The tests that mutants of `src/` have to get past: those of sessions that need no other process. */
const whole = [
  'test/{agent,input,secrets,host,session,simulation,journal,scenarios,tools,report,observe}/**/*.test.ts',
  'test/inspect/{redaction,memory-journal}.test.ts',
];

/** Those among them that start other processes, or take long. */
const slow = [
  'test/**/{kill,crash,disk,postgres,postgres-refusals,browser,types,fresh,processes}.test.ts',
  'test/tools/mcp/**',
  'test/tools/hostile-schemas.test.ts',
];

/** Only these tests: enough for mutants that would make whole sessions hang, each until a timeout. */
const named = process.env.PAWL_TESTS?.split(' ');

export default defineConfig({
  test: {
    include: named ?? whole,
    exclude: named !== undefined ? [] : slow,
    setupFiles: ['test/support/log-lines.setup.ts', 'test/support/made-each-time.setup.ts'],
    // A mutant need not live through a death after each step of a session on Restate.
    env: { PAWL_SPARSE: '3' },
    testTimeout: named !== undefined ? 15_000 : 25_000,
  },
});
