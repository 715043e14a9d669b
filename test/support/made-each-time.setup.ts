import { vi } from 'vitest';

// Stryker runs a mutant against the tests that reach it. Something made only once is reached by the first test alone.
vi.mock('../../src/platform/lazily.ts', () => ({ lazily: (make: () => object) => make }));
