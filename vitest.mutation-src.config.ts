import { defineConfig } from 'vitest/config';

/** The tests of rooms by themselves: enough for mutants that would make whole sessions hang, each until a timeout. */
const own = [
  'test/{agent,host}/*.test.ts',
  'test/session/{grants,sub-agents,sub-agents-alone,sub-sessions}.test.ts',
  'test/journal/{scope-log,tree-log}.test.ts',
];

/** The tests that mutants of `src/` have to get past: those of sessions that need no other process. */
const whole = [
  'test/{agent,host,session,simulation,journal,scenarios,tools,report,observe}/**/*.test.ts',
  'test/inspect/{redaction,memory-journal}.test.ts',
];

const isOwn = process.env.PAWL_MUTANTS === 'own';

export default defineConfig({
  test: {
    include: isOwn ? own : whole,
    exclude: [
      'test/**/{kill,crash,disk,postgres,browser,types,fresh,processes}.test.ts',
      'test/tools/mcp/**',
      'test/tools/hostile-schemas.test.ts',
    ],
    setupFiles: ['test/support/log-lines.setup.ts'],
    testTimeout: isOwn ? 5_000 : 25_000,
  },
});
