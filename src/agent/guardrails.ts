import type { Message, Reply } from '../../machines/index.ts';
import type { InputMessage } from '../model/messages.ts';

/** What a check decides: the value passes, another passes in its place, or nothing does. */
export type CheckVerdict<Replacement> = { allow: true; value?: Replacement } | { allow: false; reason: string };

/** Lets `value` pass in place of what was checked. */
export function replace<Replacement>(value: Replacement): { allow: true; value: Replacement } {
  return { allow: true, value };
}

/** What a check may use: `signal` aborts when its time (`limits.toolTimeoutMs`) is up. */
export type CheckContext<Context = unknown> = { context: Context; signal: AbortSignal };

/** Bivariant, so that a check that knows the type of its context fits too. */
type Check<Checked, Replacement, Context> = {
  call(checked: Checked, by: CheckContext<Context>): CheckVerdict<Replacement> | Promise<CheckVerdict<Replacement>>;
}['call'];

/** Checks what a session is given, before anything is sent (G-1). It may replace them. */
export type CheckInput<Context = unknown> = Check<{ messages: readonly Message[] }, readonly InputMessage[], Context>;

/** Checks a reply, even one that broke off, before it is shown or its calls run (G-2). It may replace the text. */
export type CheckReply<Context = unknown> = Check<
  { text: string; reply: Reply; turn: number; attempt: number },
  string,
  Context
>;

/** Checks the content of a report that its format accepted (G-3). It may replace it. */
export type CheckReport<Context = unknown> = Check<{ content: unknown }, unknown, Context>;
