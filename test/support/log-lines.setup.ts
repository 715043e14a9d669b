import { afterEach, expect } from 'vitest';
import { unlisted } from './listed-lines.ts';

afterEach(() => expect(unlisted.splice(0)).toEqual([]));
