/** What each program of a peer measures of its loop: `node [--expose-gc] PEER.js MODE URL`, which prints JSON. */
import { Session } from 'node:inspector/promises';
import { holds } from '../holds.ts';

const [mode = '', url = ''] = process.argv.slice(2);
const imported = process.cpuUsage();
const ms = ({ user, system }) => (user + system) / 1_000;
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Runs loops at once, each over a model of its own or all over one; fails unless each takes its turns. */
async function atOnce(prepare, count, id, ownModels) {
  const turns = Number(id.split('-')[1]);
  const shared = ownModels ? null : await prepare(url, id);
  const taken = await Promise.all(Array.from({ length: count }, async () => (shared ?? (await prepare(url, id)))()));
  const wrong = taken.find((one) => one !== turns);
  if (wrong !== undefined) throw new Error(`${wrong} turns were taken instead of ${turns}`);
  return count * turns;
}

async function warm(prepare, ownModels) {
  await atOnce(prepare, 100, 'slow-10', ownModels);
  const cpu = process.cpuUsage();
  const held = holds();
  const turns = await atOnce(prepare, 500, 'slow-10', ownModels);
  const spent = ms(process.cpuUsage(cpu));
  const share = held();
  return { cpuMs: spent / turns, p50: share(0.5), p99: share(0.99) };
}

async function cold(prepare, turns) {
  await atOnce(prepare, 1, `bare-${turns}`, false);
  const whole = ms(process.cpuUsage());
  return { whole, run: whole - ms(imported) };
}

async function bytes(prepare) {
  const loop = await prepare(url, 'long-50');
  for (let warmed = 0; warmed < 5; warmed += 1) await loop();
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 8_192,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  for (let ran = 0; ran < 10; ran += 1) await loop();
  const { profile } = await session.post('HeapProfiler.stopSampling');
  const sizeOf = ({ selfSize, children }) => children.reduce((sum, child) => sum + sizeOf(child), selfSize);
  return { kb: sizeOf(profile.head) / 1_024 / 50 / 10 };
}

async function waiting(prepare) {
  const count = 1_000;
  const loop = await prepare(url, 'hang-1');
  const heap = () => {
    gc();
    gc();
    return process.memoryUsage().heapUsed;
  };
  // The first ones load what is loaded once.
  for (let ran = 0; ran < 20; ran += 1) loop().catch(() => undefined);
  await asked(20);
  const before = heap();
  for (let ran = 0; ran < count; ran += 1) loop().catch(() => undefined);
  await asked(20 + count);
  return { kb: (heap() - before) / 1_024 / count };
}

/** Waits until the server has got so many requests. */
async function asked(count) {
  const got = async () => Number(await (await fetch(new URL('/asked', url))).text());
  while ((await got()) < count) await new Promise((resolve) => setTimeout(resolve, 50));
  await nextTurn();
}

/** From the last byte of a reply to the start of its tool, in ms: the median of 300 turns, by the machine's clock. */
async function latency(prepare) {
  const started = [];
  await (await prepare(url, 'bare-300', () => started.push(process.hrtime.bigint())))();
  const ended = (await (await fetch(new URL('/ended', url))).json()).map(BigInt);
  const times = started.map((at, index) => Number(at - ended[index]) / 1e6).slice(100);
  return { ms: times.toSorted((one, other) => one - other)[times.length >> 1] };
}

const modes = {
  warm: (prepare) => warm(prepare, false),
  'warm-own': (prepare) => warm(prepare, true),
  'cold-50': (prepare) => cold(prepare, 50),
  bytes,
  waiting,
  latency,
};

/** `prepare(url, id, onTool)` returns a function that runs the loop once, and returns how many turns it took. */
export async function measure(prepare) {
  const measured = await modes[mode](prepare);
  process.stdout.write(JSON.stringify(measured), () => process.exit(0));
}
