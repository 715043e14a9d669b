import type { Agent, SessionEvent, SessionResult } from '../../src/index.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { brokenPromises, type rehearsalModel } from '../../src/testing/index.ts';
import { RestateEngine } from './restate-engine.ts';
import { keptLog } from './session.ts';

/** An agent for sessions on Restate, what its tools did, and the models that it and its sub-agents use. */
export type Rehearsed = { agent: Agent; effects: string[]; models: ReturnType<typeof rehearsalModel>[] };

/** What someone outside does to the session `s` after a step. */
type Outside = { engine: RestateEngine; ask: (message: object) => void };

export type Life = {
  /** The steps after which the process that serves the workflow dies. */
  deaths?: readonly number[];
  atStep?: (step: number, outside: Outside) => void;
};

export type Lived = Awaited<ReturnType<typeof lived>>;

/** A session with a deadline, whose sub-agents have deadlines too. */
const budget = { wallClockMs: 3_600_000 };

/** Runs the session `s` on Restate. Approvals are given, and calls of client-side tools answered, as soon as they wait. */
export async function lived({ agent, effects, models }: Rehearsed, { deaths = [], atStep }: Life = {}) {
  const { lines, logger } = keptLog();
  const told: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => {
    told.push(event);
    const of = 'callId' in event ? { callId: event.callId, sessionId: event.sessionId } : {};
    if (event.type === 'tool.approvalRequested') ask({ type: 'approve', ...of, approved: true, reason: null });
    if (event.type === 'tool.handedOut') ask({ type: 'answer', ...of, output: 'Bonn '.repeat(1_000), isError: false });
  };
  const { handlers } = restateAgents({ agents: [agent], logger, onEvent }) as never as { handlers: never };
  const engine: RestateEngine = new RestateEngine(handlers, (step) => {
    atStep?.(step, { engine, ask });
    return deaths.includes(step);
  });
  const ask = (message: object) => void engine.call('message', 's', message);
  const parameter = { agent: agent.name, prompt: 'Go.', budget, context: { user: 'Ada' } };
  const result = (await engine.returned('run', 's', parameter)) as SessionResult;
  const requests = models.reduce((sum, model) => sum + model.requests.length, 0);
  return { result, effects, lines, told, engine, requests };
}

/** How many steps an undisturbed session takes. */
export const stepsOf = async (make: () => Rehearsed) => (await lived(make())).engine.steps;

/** Fewer lives of each test: `npm run verify` sets `PAWL_WALKS=all`, and a mutant has to get past fewer still. */
const sparse = Number(process.env.PAWL_SPARSE ?? (process.env.PAWL_WALKS === 'all' ? 1 : 2));

/** Every `stride`th of the steps, and the last. */
export const each = (stride: number, steps: number) => {
  const length = Math.ceil((steps - 1) / (stride * sparse));
  return [...Array.from({ length }, (_, index) => 1 + index * stride * sparse), steps];
};

const messages = {
  'session.abort': { type: 'session.abort', reason: 'enough' },
  'session.stop': { type: 'session.stop' },
  'session.steer': { type: 'session.steer', text: 'Be quick.' },
};

/** What is done to the session after a step: its invocation is cancelled, its deadline comes, or a message does. */
export const done = (how: 'cancelled' | 'late' | keyof typeof messages, at: number): Life => ({
  atStep: (step, { engine, ask }) => {
    if (step !== at) return;
    if (how === 'cancelled') engine.cancel('s');
    else if (how === 'late') engine.timePasses();
    else ask(messages[how]);
  },
});

const callsOf = ({ turns }: SessionResult) => turns.flatMap(({ attempts }) => attempts.flatMap(({ calls }) => calls));

/** The promises that a life broke, as sentences. Effects whose name begins with `read` may come again. */
export function brokenIn({ result, effects, lines, told, engine, requests }: Lived): string[] {
  const { tree } = result.counters;
  const once = effects.filter((effect) => !effect.startsWith('read'));
  const warned = lines
    .filter(({ level }) => level >= 40)
    .map(({ level, sessionId, turn, attempt, event }) => [level, sessionId, turn, attempt, event].join(' '));
  const unread = callsOf(result).flatMap(({ name, slug }) => (name === 'read_result' ? [slug] : []));
  const late = told.flatMap((event) => (event.type === 'effect.late' ? [`${event.sessionId} ${event.key}`] : []));
  const promises: [boolean, string][] = [
    // An abort or a death may come before the request that was counted is sent.
    [requests <= tree.requests, `${requests} requests, ${tree.requests} counted`],
    [new Set(once).size === once.length, `an effect came twice: ${once.join(', ')}`],
    [new Set(warned).size === warned.length, `a line came twice: ${warned.join(', ')}`],
    [late.length === 0, `performed after their calls were answered: ${late.join(', ')}`],
    [!unread.includes('tool_exec_failed'), 'a kept result could not be read'],
    [engine.open('run').length === 0, `these outlive the session: ${engine.open('run').join(', ')}`],
    [tree.sessions === engine.calls('run'), `${engine.calls('run')} sessions, ${tree.sessions} counted`],
  ];
  return [...brokenPromises(result), ...promises.flatMap(([holds, what]) => (holds ? [] : [what]))];
}
