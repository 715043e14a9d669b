import type { EffectKinds } from '../../../machines/index.ts';
import { sleep } from '../../host/clock.ts';
import { waitOut } from '../../host/deadline.ts';
import type { EffectContext } from '../../host/driver.ts';
import type { SessionIdentity } from '../wiring/identity.ts';

/** The decision on a call is delivered from outside (`approve`); here it only times out (T-2). */
export async function untilDecided(
  { agent, around }: Pick<SessionIdentity, 'agent' | 'around'>,
  { signal, since }: EffectContext,
): Promise<EffectKinds['approval']['outcome']> {
  await waitOut({ clock: around.clock, timeoutMs: agent.limits.approvalTimeoutMs, signal }, since);
  return { decision: 'timeout', reason: null };
}

/** Waits until a target is free, or for the deadline (P-3). */
export async function waited(
  { clock }: SessionIdentity['around'],
  { dueAt, kind }: EffectKinds['wait']['request'],
  { signal, since }: EffectContext,
): Promise<EffectKinds['wait']['outcome']> {
  // If the clock was set back, the wait would last longer than it was meant to.
  const isSetBack = clock.now() < since;
  const leftMs = dueAt - (isSetBack ? since : clock.now());
  await (kind === 'deadline' || isSetBack ? sleep(clock, leftMs, signal) : clock.sleepUntil(dueAt, signal));
  return {};
}
