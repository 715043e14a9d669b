import { vi } from 'vitest';

// Stryker runs a mutant against the tests that reach it. Of what is made once, that would be the first test alone.
vi.mock('../../src/schema/lazily.ts', () => ({ lazily: (make: () => object) => make }));
