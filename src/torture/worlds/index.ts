import type { World } from '../world.ts';
import { bank } from './bank.ts';
import { calendar } from './calendar.ts';
import { repository } from './repository.ts';
import { shop } from './shop.ts';

export const worlds: readonly World[] = [bank, shop, calendar, repository];
