import type { SessionEvent } from '../../src/index.ts';
import type { Account } from './account.ts';
import { secret } from './model.ts';

/** A listener: it notes the event, may leave a decision to a person, and may command or throw. */
export function heard(account: Account, event: SessionEvent): Promise<void> | undefined {
  const { world, result } = account;
  const { life, choices } = world;
  account.events.push(event);
  if (result !== null) account.breaks(`nothing comes after the result (${event.type})`);
  if (event.type === 'model.delta') return undefined;
  world.tell(
    `  ${event.path.map((name) => `${name}: `).join('')}${event.type}${'slugs' in event ? ` ${event.slugs}` : ''}`,
  );
  const isIdle = event.type === 'attempt.failed' && event.detail?.startsWith('No part of the reply') === true;
  const idleMs = world.passedMs - account.lastPartMs;
  if (isIdle && event.path.length === 0 && idleMs < account.plan.limits.modelIdleTimeoutMs)
    account.breaks(`a request is idle only if nothing came (${idleMs} ms)`);
  if (event.type === 'tool.approvalRequested') {
    const { callId, name, sessionId } = event;
    // Over HTTP, a call without an id gets a random one.
    life.task(`a person decides on ${name}`, () => {
      const approved = choices.chance(60);
      if (approved) account.approved.add(`${sessionId} ${callId}`);
      account.session?.approve(callId, { approved, sessionId });
    });
  }
  if (event.type === 'tool.handedOut') {
    const { callId, name, sessionId } = event;
    life.task(`a page answers ${name}`, () => {
      account.session?.answer(callId, { said: secret }, { isError: choices.chance(20), sessionId });
    });
  }
  // It comes with the start of its attempt, of which the listener has just heard.
  if (event.type === 'prefix.broken') return undefined;
  const does = choices.weighed({
    nothing: 980,
    throws: 8,
    stops: 2,
    steers: 6,
    aborts: 1,
    'rejects later': 3,
    compacts: 10,
  });
  if (does === 'nothing') return undefined;
  world.trouble(`a listener ${does}`);
  world.tell(`  a listener ${does}`);
  if (does === 'throws') throw new Error('the listener broke');
  if (does === 'stops') account.session?.stop();
  if (does === 'steers') account.steer();
  if (does === 'compacts') account.compact();
  if (does === 'aborts') account.session?.abort('a listener');
  if (does !== 'rejects later') return undefined;
  return life.turn('what a listener began fails').then(() => Promise.reject(new Error('the listener broke later')));
}

/** Intervenes between two steps, and between an effect's request, its start and its end. */
export function intervene(account: Account, live: () => void): void {
  const { world, session, journal } = account;
  const does = world.choices.weighed({
    nothing: 970,
    'steers it': 8,
    'stops it': 2,
    'aborts it': 2,
    'aborts its signal': 1,
    'approves what does not wait': 3,
    'sets the clock back': 4,
    'kills the process': 8,
    'takes it over in another process': 4,
    'suspends it': 3,
    'cuts the power': 6,
  });
  const movesOn = ['kills the process', 'takes it over in another process', 'cuts the power'].includes(does);
  const needsJournal = movesOn || does === 'suspends it';
  if (does === 'nothing' || (needsJournal && journal === null)) return;
  if (does === 'cuts the power' && account.disk === null) return;
  // Until it is written down, no other process knows of it.
  if (does === 'takes it over in another process' && account.events.length === 0) return;
  world.trouble(`a user ${does}`);
  world.tell(`A USER ${does}`);
  if (does === 'steers it') account.steer();
  if (does === 'stops it') session?.stop();
  if (does === 'aborts it') session?.abort();
  if (does === 'aborts its signal') account.controller.abort(new Error('enough'));
  if (does === 'approves what does not wait') session?.approve('nothing', { approved: true });
  if (does === 'sets the clock back') world.setBack(3_600_000);
  if (does === 'suspends it') void session?.suspend();
  if (!movesOn) return;
  if (does === 'takes it over in another process') world.takeOver();
  else world.die();
  if (does === 'cuts the power') {
    world.outdated.length = 0;
    const fate = account.disk?.cutPower(world);
    if (fate !== 'kept') world.trouble(`what was not acknowledged is ${fate}`);
    world.tell(`  what was not acknowledged is ${fate}`);
  }
  account.deaths += 1;
  const left = account.journal;
  // Its lease runs out.
  void left?.release('s', account.owner).then(async () => {
    if ((await left.list({ sessionId: 's' })).length === 0) account.deaths = 0;
    live();
  });
}
