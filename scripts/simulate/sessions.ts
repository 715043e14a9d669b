/** Simulates sessions: `node sessions.ts SEED STRIDE MINUTES MODE [WAY]`. Prints a tally as JSON. */
import { simulated } from '../../test/simulation/run.ts';
import { modeOf, numberOf, seedOf, wayOf } from './number-of.ts';

const [seed = '', strides = '', minutes = '', mode = '', way = 'any'] = process.argv.slice(2);
const stride = numberOf('STRIDE', strides, 1);
const until = Date.now() + numberOf('MINUTES', minutes, 0) * 60_000;
const tally = await simulated(seedOf('SEED', seed), stride, () => Date.now() > until, modeOf(mode), wayOf(way));
// A session that broke a promise may never end.
process.stdout.write(JSON.stringify(tally), () => process.exit(tally.failures.length > 0 ? 1 : 0));
