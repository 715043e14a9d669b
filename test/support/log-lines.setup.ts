import { afterEach, expect } from 'vitest';
import { unlisted } from './unlisted-lines.ts';

afterEach(() => expect(unlisted.splice(0)).toEqual([]));
