import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What is quick first: most mutants do not get past the golden tables. */
class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => (/\/paths\/|\/arrows\./.test(moduleId) ? 1 : 0);
    return files.toSorted((one, other) => isSlow(one) - isSlow(other));
  }
}

/** The tests that mutants of the machines have to get past: the tables of what the rules say, and the walks over all paths. */
export default defineConfig({
  test: {
    include: ['test/machines/**/*.test.ts', 'test/paths/paths.test.ts'],
    sequence: { sequencer: QuickFirst },
    testTimeout: 20_000,
  },
});
