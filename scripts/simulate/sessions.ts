/** Simulates sessions: `node sessions.ts SEED STRIDE MINUTES`. Prints what they came to as JSON. */
import { writeSync } from 'node:fs';
import { simulated } from '../../test/simulation/run.ts';

const [seed = 1, stride = 1, minutes = 1] = process.argv.slice(2).map(Number);
const until = Date.now() + minutes * 60_000;
const tally = await simulated(seed, stride, () => Date.now() > until);
writeSync(1, JSON.stringify(tally));
// A session that broke a promise may go on for ever.
process.exit(tally.failures.length > 0 ? 1 : 0);
