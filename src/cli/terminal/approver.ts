import { createInterface } from 'node:readline/promises';
import { eventLoopTurn } from '../../host/clock.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { tame } from '../../platform/text.ts';
import type { Session } from '../../session/session.ts';

export type Asked = Extract<SessionEvent, { type: 'tool.approvalRequested' }>;
export type Decision = Parameters<Session['approve']>[1];
type Waiting = { call: Asked; withdrawn: AbortController };

/** Asks the user to approve each waiting call, one at a time. */
export class Approver {
  private readonly approve: (callId: string, decision: Decision) => void;
  private readonly interrupt: () => void;
  private readonly unattended: (name: string) => Decision | null;
  private readonly preview: (call: Asked, withdrawn: AbortSignal) => Promise<string[]>;
  private readonly waiting: Waiting[] = [];
  private begun = false;

  /**
   * @param interrupt called when the user presses Ctrl-C at a prompt
   * @param unattended decides a call of a tool where there is no terminal; null leaves it to others
   * @param preview returns the lines that are shown above a question
   */
  constructor(
    approve: (callId: string, decision: Decision) => void,
    interrupt: () => void,
    unattended: (name: string) => Decision | null,
    preview: (call: Asked, withdrawn: AbortSignal) => Promise<string[]>,
  ) {
    this.approve = approve;
    this.interrupt = interrupt;
    this.unattended = unattended;
    this.preview = preview;
  }

  heed(event: SessionEvent): void {
    if (event.type === 'tool.approvalRequested') {
      this.waiting.push({ call: event, withdrawn: new AbortController() });
      if (this.begun && this.waiting.length === 1) void this.askAll();
    }
    // The call timed out, or the session was stopped or aborted, so no decision is needed.
    if (event.type === 'tool.answered') {
      const answered = ({ call }: Waiting) => call.callId === event.callId && call.sessionId === event.sessionId;
      this.waiting.find(answered)?.withdrawn.abort();
    }
  }

  /** Begins to ask: the session can be answered now. */
  begin(): void {
    this.begun = true;
    void this.askAll();
  }

  private async askAll(): Promise<void> {
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      const decision = await this.decided(next);
      const { callId, sessionId } = next.call;
      if (decision !== null) this.approve(callId, { ...decision, sessionId });
      this.waiting.shift();
    }
  }

  /** Returns null if the call was answered in another way. */
  private async decided({ call, withdrawn: { signal } }: Waiting): Promise<Decision | null> {
    if (process.stdin.isTTY !== true) return this.unattended(call.name);
    for (const line of await this.preview(call, signal)) process.stderr.write(`${line}\n`);
    if (signal.aborted) return null;
    if (await dropTyped(process.stdin)) {
      this.interrupt();
      return null;
    }
    const keyboard = createInterface({ input: process.stdin, output: process.stderr });
    keyboard.once('SIGINT', () => {
      this.interrupt();
      keyboard.close();
    });
    const question = `Run ${tame(`${call.name} ${JSON.stringify(call.input)}`)}? [y/N] `;
    // Ctrl-D closes the prompt without an answer, which counts as a denial.
    const closed = new Promise<string>((resolve) => keyboard.once('close', () => resolve('')));
    const answer = await Promise.race([keyboard.question(question, { signal }), closed]).catch(() => null);
    keyboard.close();
    return answer === null ? null : { approved: /^y(es)?$/i.test(answer.trim()), reason: 'decided at the keyboard' };
  }
}

/** Drops what was typed before a question, which it cannot answer. Returns whether Ctrl-C was among it. */
async function dropTyped(input: NodeJS.ReadStream): Promise<boolean> {
  let isInterrupted = false;
  const drop = (typed: Buffer) => {
    isInterrupted ||= typed.includes('\u0003');
  };
  // In raw mode, an unfinished line is read too, and Ctrl-D is a character and not the end.
  input.setRawMode(true);
  input.on('data', drop);
  // What the terminal holds is read by then.
  for (let turn = 0; turn < 3; turn += 1) await eventLoopTurn();
  input.off('data', drop).pause();
  input.setRawMode(false);
  return isInterrupted;
}
