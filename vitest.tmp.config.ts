import { defineConfig } from 'vitest/config';
export default defineConfig({
  root: '/work/main',
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    maxWorkers: 2,
    chaiConfig: { truncateThreshold: 0 },
    reporters: [['json', { outputFile: '/tmp/j.json' }]],
  },
});
