/** The task and the model that both loops of the page work with, in the same order and with the same faults. */

export type Fault = 'empty' | 'claimed' | 'unknown tool' | 'cut' | '429';
export const faults: readonly Fault[] = ['empty', 'claimed', 'unknown tool', 'cut', '429'];

export type Call = { name: string; input: Record<string, string> };
export type Reply = { text?: string; calls?: readonly Call[]; fault: Fault | null };

export const prompt = 'Book a table for two, pay the deposit, and write to Ada about it.';

/** What the tools have done: the world that counts. */
export class World {
  readonly done = new Map<string, number>();

  readonly tools = {
    book_table: () => this.did('tables booked', { table: 7 }),
    pay_deposit: () => this.did('deposits paid', { paid: '20.00' }),
    send_mail: () => this.did('mails sent', { sent: true }),
  };

  private did(what: string, result: object): string {
    this.done.set(what, (this.done.get(what) ?? 0) + 1);
    return JSON.stringify({ ok: true, ...result });
  }

  /** Whether each was done, and once. */
  get isRight(): boolean {
    return ['tables booked', 'deposits paid', 'mails sent'].every((what) => this.done.get(what) === 1);
  }
}

const steps: readonly Call[] = [
  { name: 'book_table', input: { guests: '2' } },
  { name: 'pay_deposit', input: { table: '7' } },
  { name: 'send_mail', input: { to: 'ada', text: 'Table 7 is ours.' } },
];
export const answer = 'Table 7 is booked, the deposit is paid, and Ada knows.';

/** The reply to a transcript in which so many calls are answered, gone wrong as `fault` says. */
export function replyTo(answered: readonly string[], fault: Fault | null): Reply {
  switch (fault) {
    case 'empty':
      return { fault };
    case 'claimed':
      return { text: 'Done, all of it.', fault };
    case 'unknown tool':
      return { calls: [{ name: 'do_everything', input: {} }], fault };
    case 'cut':
    case '429':
      return { fault };
    default: {
      const next = steps.find(({ name }) => !answered.includes(name));
      return next === undefined ? { text: answer, fault } : { calls: [next], fault };
    }
  }
}
