import { readFileSync } from 'node:fs';
import type { SessionEvent } from '../../src/index.ts';
import { Choices } from '../../test/simulation/choices.ts';
import { type Simulated, simulate } from '../../test/simulation/simulate.ts';
import { model, searched } from './pan.ts';

/** The steps of the SPIN model, as `test/spin/session.pml` numbers them. */
const [TURN, LAST, COLLAPSE, REQUEST, WORK, CHILDS, END, STOP] = [1, 2, 3, 4, 5, 6, 7, 8];

/** More requests than a session without a budget sends. */
const anyRequests = 200;

type Size = { turns: number; retries: number; tree: number };
type Trace = { size: Size; steps: number[] };

/** SPIN's findings on the traces of simulated sessions, and on traces that break a rule. */
export type FollowedTraces = {
  sessions: number;
  /** Different traces, and those that the model cannot follow. */
  traces: number;
  unfollowed: Trace[];
  forged: number;
  /** Broken traces that the model follows, which it must not. */
  accepted: Trace[];
};

/** Simulates sessions, and checks that the SPIN model can take the same steps. */
export async function followedBySpin(sessions: number): Promise<FollowedTraces> {
  const traces = new Map<string, Trace>();
  for (let seed = 1; seed <= sessions; seed += 1) {
    const trace = traceOf(await simulate(Choices.ofSeed(seed)));
    traces.set(JSON.stringify(trace), trace);
  }
  const real = [...traces.values()];
  const forged = real.flatMap(forgeriesOf);
  const followed = followedOf([...real, ...forged]);
  const unfollowed = real.filter((_, index) => !followed.has(index));
  const accepted = forged.filter((_, index) => followed.has(real.length + index));
  return { sessions, traces: real.length, unfollowed, forged: forged.length, accepted };
}

export const shownTrace = ({ size, steps }: Trace) => `${JSON.stringify(size)}: ${steps.join(' ')}`;

function traceOf({ plan, events }: Simulated): Trace {
  const size = {
    turns: plan.limits.maxTurns,
    retries: plan.limits.maxRetries,
    tree: plan.budget.requests ?? anyRequests,
  };
  const steps: number[] = [];
  let works = false;
  for (const event of events) {
    const step = stepOf(event);
    if (step === REQUEST) works = false;
    // A second stop changes nothing.
    if (step === null || (step === WORK && works) || (step === STOP && steps.includes(STOP))) continue;
    works ||= step === WORK;
    steps.push(step);
  }
  return { size, steps };
}

/** The step of the model that an event is; null if it is none. Only the first tool of a reply is one. */
function stepOf(event: SessionEvent): number | null {
  const { type, path } = event;
  if (path.length > 0) return type === 'attempt.started' ? CHILDS : null;
  switch (type) {
    case 'turn.started':
      return event.isLastTurn ? LAST : TURN;
    case 'session.stopping':
      return STOP;
    case 'session.collapsed':
      return COLLAPSE;
    case 'attempt.started':
      return REQUEST;
    case 'tool.approvalRequested':
    case 'tool.started':
    case 'tool.handedOut':
      return WORK;
    case 'session.succeeded':
    case 'session.failed':
    case 'session.aborted':
      return END;
    default:
      return null;
  }
}

/** Traces like this one in which one rule is broken. */
function forgeriesOf({ size, steps }: Trace): Trace[] {
  const inserted = (index: number, ...more: number[]) => ({ size, steps: steps.toSpliced(index, 0, ...more) });
  const last = steps.indexOf(LAST);
  const request = steps.indexOf(REQUEST);
  const end = steps.length - 1;
  const work = steps.findIndex((step, index) => step === WORK && steps[index + 1] === TURN);
  return [
    // B-2: a turn with a request too many.
    ...(request === -1 ? [] : [inserted(request, ...Array(size.retries).fill(REQUEST))]),
    // B-4: a turn after the last, and a second collapse.
    ...(last === -1 ? [] : [inserted(end, LAST, REQUEST)]),
    ...(steps.includes(COLLAPSE) ? [inserted(end, COLLAPSE)] : []),
    // B-5: a tool on the last turn.
    ...(steps[last + 1] === REQUEST && last !== -1 ? [inserted(last + 2, WORK)] : []),
    // T-2: a turn that leads to the next one without any progress, and without a stop that forestalled it.
    ...(work === -1 || steps.includes(STOP) ? [] : [{ size, steps: steps.toSpliced(work, 1) }]),
    // B-7: more requests of the tree than its budget.
    ...(size.tree === anyRequests || request === -1 ? [] : [inserted(request + 1, ...Array(size.tree).fill(CHILDS))]),
    // S-3: a session that does not end, and one that ends twice.
    { size, steps: steps.slice(0, -1) },
    inserted(end, END),
  ];
}

/** The indexes of the traces that the model can follow to the end. */
function followedOf(traces: readonly Trace[]): Set<number> {
  const report = searched({
    files: { 'session.pml': readFileSync(model, 'utf8'), 'traces.h': tableOf(traces) },
    // A sub-agent has two turns of two attempts, and no reply has more than three calls.
    constants: { COUNT: traces.length, CHILD: 4, CALLS: 3 },
    flags: ['-DTRACES'],
    compile: ['-O1', '-DSAFETY'],
    // A trace that cannot be followed blocks the model, which is no error here.
    search: ['-E', '-m100000'],
  });
  return new Set([...report.matchAll(/^followed (\d+)$/gm)].map(([, index]) => Number(index)));
}

/** The traces in C, a row each, with zeros at its end. */
function tableOf(traces: readonly Trace[]): string {
  const longest = Math.max(...traces.map(({ steps }) => steps.length));
  const rows = traces.map(({ size: { turns, retries, tree }, steps }) => `{${[turns, retries, tree, ...steps]}},`);
  return `const unsigned char traces[][${longest + 4}] = {\n${rows.join('\n')}\n};\n`;
}
