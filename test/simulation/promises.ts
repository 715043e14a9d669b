import { isDeepStrictEqual } from 'node:util';
import { type Journal, replaySession, type SessionEvent, type SessionResult } from '../../src/index.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { withoutSecrets } from '../../src/secrets/redact.ts';
import { sessionInput } from '../../src/session/input.ts';
import { brokenPromises } from '../../src/testing/index.ts';
import { countersFrom } from '../../src/testing/verify/recount.ts';
import { factsOf, replay } from '../support/replay.ts';
import type { Account } from './account.ts';
import { agentOf } from './agent.ts';
import { type Sent, secret } from './model.ts';

/** Returns the promises that a session broke, as sentences, once it has ended. */
export async function brokenAtEnd(account: Account): Promise<string[]> {
  const { session, result, world, journal } = account;
  if (session === null || result === null) return [];
  const broken: string[] = [];
  const promise = (holds: boolean, sentence: string) => void (holds || broken.push(sentence));
  const { alarms } = world.life;
  promise(alarms.length === 0, `no timer is left after the result (${alarms.length})`);
  const { connections } = world.life;
  promise(connections.size === 0, `no connection is left after the result (${connections.size})`);
  const processes = (await world.processes?.left(world.life)) ?? 0;
  promise(processes === 0, `no process is left after the result (${processes})`);
  promise(account.listenersLeft === 0, "no listener is left on the caller's signal");
  const unaborted = account.begun.filter(({ life, hasEnded, signal }) => {
    return life === world.life && !hasEnded && signal?.aborted !== true;
  });
  promise(
    unaborted.length === 0,
    `a tool that runs after the result was aborted (${unaborted.map(({ name }) => name)})`,
  );
  // What ignored the abort ends now, and no event follows. A process that lost its session finds out.
  const heard = account.events.length;
  while (world.step()) await world.settled();
  for (const life of world.outdated) {
    promise(life.alarms.length === 0, `no timer is left in a process that lost its session (${life.alarms.length})`);
    const isLeft = account.followed.some((one) => one.life === life && !one.hasResult);
    promise(life.connections.size === 0, 'no connection is left in a process that lost its session');
    const servers = (await world.processes?.left(life)) ?? 0;
    promise(servers === 0, `no server is left of a process that lost its session (${servers})`);
    promise(!isLeft, 'a session that another process took over has a result');
  }
  promise(account.events.length === heard, 'no event follows the end');
  const told: SessionEvent[] = [];
  for await (const event of session.events) told.push(event);
  account.told = told;
  return [
    ...broken,
    ...brokenByResult(account, result, told),
    ...account.sent.flatMap(malformedRequest),
    ...(await brokenMarks(account)),
    ...(await brokenGrants(account)),
    ...(await brokenByReplay(account, told)),
    ...leaks({
      events: told,
      log: account.lines,
      report: result.report,
      journal: await errorsIn(journal),
    }),
  ];
}

function brokenByResult(account: Account, result: SessionResult, told: SessionEvent[]): string[] {
  const { plan, sent, deaths, lines } = account;
  const broken: string[] = [];
  const promise = (holds: boolean, sentence: string) => void (holds || broken.push(sentence));
  const { counters, status } = result;
  const own = sent.filter(({ agent }) => agent === 'simulated').length;
  if (deaths === 0) {
    broken.push(...brokenPromises(result, { limits: plan.limits, requests: own }));
    promise(sent.length <= counters.tree.requests, 'no request goes out uncounted');
    const timedOut = counters.slugs.provider_timeout ?? 0;
    if (status !== 'aborted')
      promise(
        own >= counters.requests - timedOut,
        `every request that is counted goes out (${own} of ${counters.requests})`,
      );
    const of = (level: string) => lines.filter((line) => line.level === level && line.sessionId === 's').length;
    promise(of('warn') === counters.failedAttempts, `one WARN line for each failed attempt (${of('warn')})`);
    promise(of('error') === (status === 'failed' ? 1 : 0), `one ERROR line for a failed session (${of('error')})`);
  } else {
    broken.push(...brokenPromises(result, { limits: plan.limits }));
  }
  const { requests } = plan.budget;
  const treeBound = 4 * plan.limits.maxTurns * plan.limits.maxRetries;
  promise(counters.tree.requests <= treeBound, `the tree sends at most ${treeBound} requests`);
  promise(requests === undefined || counters.tree.requests <= requests, 'the budget of requests holds');
  const counted = countersFrom(result, told);
  promise(isDeepStrictEqual(counters, counted), `the counters equal a recount: ${difference(counters, counted)}`);
  promise(
    told.every(({ seq }, index) => index === 0 || seq > (told[index - 1]?.seq ?? 0)),
    'the positions of the events ascend',
  );
  const { begun, approved, steered, read } = account;
  const once = begun.filter(({ agent }) => agent === 'simulated').map(({ callId }) => callId);
  promise(new Set(once).size === once.length, `no call runs twice (${once})`);
  const unapproved = begun.filter(
    ({ agent, name, callId }) => agent === 'simulated' && name === 'guarded' && !approved.has(`s ${callId}`),
  );
  promise(unapproved.length === 0, 'no call runs without the approval that it needs');
  const said = JSON.stringify(result.conversation);
  if (deaths === 0 && !account.world.life.hasLostWrite)
    promise(
      steered.every((text) => said.includes(text)),
      'every steer is in the conversation',
    );
  if (deaths === 0) promise(textsOf(read) === textsOf(told), 'a reader who keeps up reads what a late one reads');
  const durable = new Set(told.filter(isFact).map(placeOf));
  const lost = [...account.events, ...account.outdatedEvents].filter(
    (event) => isFact(event) && !durable.has(placeOf(event)),
  );
  promise(lost.length === 0, `every fact of any life is in the session's events (${lost.map(({ type }) => type)})`);
  const ends = told.filter(({ type, path }) => path.length === 0 && /^session\.(succeeded|failed|aborted)$/.test(type));
  promise(ends.length === 1, `the session ends once (${ends.length})`);
  return broken;
}

/** Facts are published once they are durable; a suspension is not a fact. */
function isFact({ type, path }: SessionEvent): boolean {
  return path.length === 0 && /^(turn|attempt|session)\.(?!suspended)|^tool\.(requested|started|answered)/.test(type);
}

/** A fact without its position and time, which change if a step that was not durable is repeated. */
function placeOf(event: SessionEvent): string {
  const { seq: _, at: __, path: ___, ...said } = event;
  return JSON.stringify(said);
}

/** The texts of all deltas, by their part. */
function textsOf(events: readonly SessionEvent[]): string {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.type !== 'model.delta') continue;
    const part = [event.sessionId, event.turn, event.attempt, event.part].join(' ');
    texts.set(part, (texts.get(part) ?? '') + event.delta);
  }
  return JSON.stringify([...texts]);
}

function difference(one: object, other: object): string {
  const names = Object.keys(one).filter((name) => !isDeepStrictEqual(Reflect.get(one, name), Reflect.get(other, name)));
  return names.map((name) => `${name} ${JSON.stringify([Reflect.get(one, name), Reflect.get(other, name)])}`).join();
}

/** Each call in a request is answered at once and in order; the request's one notice is at its end. */
function malformedRequest({ agent, prompt }: Sent): string[] {
  const broken: string[] = [];
  for (const [index, message] of prompt.entries()) {
    const next = prompt[index + 1];
    if (message.role === 'tool' && prompt[index - 1]?.role !== 'assistant') broken.push('answers follow their calls');
    if (message.role === 'assistant') {
      const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []));
      const answers =
        next?.role === 'tool'
          ? next.content.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []))
          : [];
      if (calls.join() !== answers.join()) broken.push(`calls are answered in order (${calls}: ${answers})`);
      if (next?.role === 'assistant') broken.push('no two messages of the assistant follow each other');
    }
    const isNotice =
      message.role === 'user' &&
      message.content.some((part) => part.type === 'text' && part.text.startsWith('system notice: '));
    if (isNotice && index !== prompt.length - 1) broken.push('the notice is at the end of the request');
  }
  if (prompt.at(-1)?.role === 'assistant') broken.push('no request ends with the assistant');
  return broken.map((sentence) => `${sentence} (a request of ${agent})`);
}

/** No more began than was marked (D-4, B-6), in all lives, also where another process took the session over. */
async function brokenMarks({ journal, sent, begun }: Account): Promise<string[]> {
  if (journal === null) return [];
  const marks = (await journal.read('s')).flatMap((entry) =>
    entry.type === 'begun' && entry.scope === '' ? [entry.key] : [],
  );
  const isOwn = ({ agent }: { agent: string }) => agent === 'simulated';
  const tools = marks.filter((key) => /\/tool-\d+$/.test(key)).length;
  const models = marks.filter((key) => /\/(?:model|compact)$/.test(key)).length;
  return [
    ...(begun.filter(isOwn).length <= tools ? [] : ['no more tools begin than are marked']),
    ...(sent.filter(isOwn).length <= models ? [] : ['no more requests go out than are marked']),
  ];
}

/** A sub-agent is granted at most what is left, but for one request, and sends no more than that (B-7). */
async function brokenGrants({ journal, plan }: Account): Promise<string[]> {
  const { requests: most = null } = plan.budget;
  if (journal === null || most === null) return [];
  const entries = await journal.read('s');
  const sentIn = (scope: string, some: readonly JournalEntry[]) =>
    new Set(some.flatMap((one) => (isRequest(one) && one.scope === scope ? [one.key] : []))).size;
  const children = entries.flatMap((entry, index) =>
    entry.type === 'started' && entry.head.call !== null
      ? [{ granted: entry.head.call.granted.requests ?? 0, sent: sentIn(entry.scope, entries), index }]
      : [],
  );
  return children.flatMap(({ granted, sent, index }, place) => {
    // What the earlier ones sent in all is spent by now, or reserved.
    const earlier = children.slice(0, place).reduce((sum, child) => sum + child.sent, 0);
    const left = most - sentIn('', entries.slice(0, index)) - earlier;
    return [
      ...(granted <= left - 1 ? [] : [`a sub-agent is granted what is left (${granted} of ${left})`]),
      ...(sent <= granted ? [] : [`a sub-agent sends what it was granted (${sent} of ${granted})`]),
    ];
  });
}

const isRequest = (entry: JournalEntry): entry is Extract<JournalEntry, { type: 'begun' }> =>
  entry.type === 'begun' && entry.key.endsWith('/model');

/** A replay gives what the session gave. */
async function brokenByReplay(account: Account, told: readonly SessionEvent[]): Promise<string[]> {
  const { plan, world, deliveries, startedAt, journal, deaths, result } = account;
  if (world.life.hasLostWrite) return [];
  if (journal !== null) {
    const replayed = await replaySession(journal, 's', { secrets: [secret] });
    const { difference: where, counters } = replayed;
    return [
      ...(where === null ? [] : [`a replay takes the same path: ${JSON.stringify(where)}`]),
      ...(isDeepStrictEqual(counters, result?.counters) ? [] : ['a replay counts the same']),
    ];
  }
  if (deaths > 0) return [];
  const agent = agentOf(plan, world, { sent: [], begun: [], onBegin: () => {}, onPart: () => {} });
  const { facts } = replay(sessionInput(agent, plan.budget, startedAt), deliveries);
  const clean = withoutSecrets(JSON.parse(JSON.stringify(facts)), [secret]);
  return isDeepStrictEqual(factsOf(told), clean) ? [] : ['the deliveries alone give the same facts'];
}

/** What a journal holds of errors. What models and tools gave is in it as it came. */
async function errorsIn(journal: Journal | null): Promise<JournalEntry[]> {
  const entries = (await journal?.read('s')) ?? [];
  return entries.filter((entry) =>
    entry.type === 'sighted'
      ? !['model.delta', 'tool.progressed'].includes(entry.sighting.type)
      : entry.type === 'delivered' && 'defect' in entry.delivery,
  );
}

function leaks(places: Record<string, unknown>): string[] {
  return Object.entries(places).flatMap(([place, what]) =>
    JSON.stringify(what).includes(secret) ? [`no secret is in the ${place}`] : [],
  );
}
