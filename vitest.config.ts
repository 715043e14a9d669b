import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/** Tests of a journal's own timers, which know when it answers. */
const ofQuickJournals = ['test/journal/tree-log-ticks.test.ts', 'test/journal/closed-journals.test.ts'];
const areSlow = process.env.PAWL_SLOW_JOURNALS !== undefined;
const files = globSync('test/**/*.test.ts').filter((file) => !(areSlow && ofQuickJournals.includes(file)));
/**
 * Tests that replace modules, or parts of them, or count all timers need a process of their own, as do those of the
 * inspector, which keeps the secrets of all agents of its process. The others share one, and what it has imported.
 */
const isIsolated = (file: string) =>
  /^test.inspect/.test(file) ||
  /vi\.(?:mock|doMock|resetModules|stubGlobal|getTimerCount)\(|getActiveResourcesInfo|\.implementations\b/.test(
    readFileSync(file, 'utf8'),
  );
/** What real processes, work trees and browsers take long for: `npm run long`. */
const isLong = (file: string) =>
  /^test.(?:workflow|simulation)/.test(file) ||
  /^test.inspect.(?:contents|inbox|live|page|pages-in-use|panes|seen|workflow)\./.test(file) ||
  /^test.(?:acp.serve-acp|batch.(?:killed-batch|two-processes)|cli.work|journal.(?:crash|disk|kill|upgrades)|restate.deaths|scenarios.bill|session.long-talks|ui.chat-page(?:-example)?)\./.test(
    file,
  );
const long = files.filter(isLong);
const isolated = files.filter((file) => isIsolated(file) && !isLong(file));
const project = (name: string, include: string[], isolate: boolean) => ({
  extends: true as const,
  test: { name, include, isolate },
});

export default defineConfig({
  test: {
    // For tests that hang, on the slowest machine: nothing here waits for real time beyond fractions of a second.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What a test polls for, too, comes late on a slow machine.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 3,
    setupFiles: [
      ...['test/support/log-lines.setup.ts', 'test/support/leftovers.setup.ts'],
      ...(areSlow ? ['test/support/slow-journals.setup.ts'] : []),
    ],
    globalSetup: 'test/support/built.ts',
    projects: [
      project(
        'shared',
        files.filter((file) => !isolated.includes(file) && !isLong(file)),
        false,
      ),
      project('isolated', isolated, true),
      project('long', long, true),
    ],
  },
});
