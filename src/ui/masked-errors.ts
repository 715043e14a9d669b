import type { CallFacts, Fact, ReplyPart, Slug } from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import { approvalIdOf } from './call-reference.ts';

/** Returns what a page shows of an error of a provider or a tool; its message is the whole text. */
export type OnError = (error: Error) => string;

/** What a page shows of a tool that failed. */
const toolFailed = 'The tool failed.';
/** What it shows of any other error, where it must show something. */
const anError = 'An error occurred.';

/** The answers that hold the words of a tool, or of a check that threw. */
const foreign = new Set<Slug | null>(['tool_exec_failed', 'check_failed'] satisfies Slug[]);

/**
 * Leaves the error texts of providers and tools out of what a page gets, since they may say how a server is made (S-6f):
 * the slugs stay, and `onError` may say more. What a page answered itself is shown as it came.
 */
export class MaskedErrors {
  private readonly onError: OnError | undefined;
  private readonly ofPages = new Set<string>();

  constructor(onError?: OnError) {
    this.onError = onError;
  }

  /** Returns an event as a page may see it. */
  masked(event: SessionEvent): SessionEvent {
    switch (event.type) {
      case 'tool.handedOut':
        this.ofPages.add(approvalIdOf(event));
        return event;
      case 'tool.answered':
        return this.answered(event);
      case 'attempt.replied':
        return { ...event, ...this.replied(event) };
      case 'report.rejected':
        return event.slug === 'check_failed' ? { ...event, reasons: this.text(event.reasons) ?? anError } : event;
      case 'attempt.failed':
        return { ...event, detail: this.text(event.detail) };
      case 'session.failed':
      case 'session.suspended':
        return { ...event, failure: { ...event.failure, detail: this.text(event.failure.detail) } };
      case 'target.excluded':
      case 'piece.replaced':
        return { ...event, detail: this.text(event.detail) ?? anError };
      case 'server.lost':
      case 'server.unavailable':
      case 'observer.failed':
        return { ...event, message: this.text(event.message) ?? anError };
      default:
        return event;
    }
  }

  private answered(event: Extract<SessionEvent, { type: 'tool.answered' }>): SessionEvent {
    if (!foreign.has(event.slug) || this.ofPages.has(approvalIdOf(event))) return event;
    const message = this.text(event.result.message) ?? toolFailed;
    const result = { success: false, value: null, message };
    return { ...event, result, output: { type: 'error-text', value: message }, kept: null };
  }

  private replied({ fault, reply, calls }: Extract<Fact, { type: 'attempt.replied' }>) {
    return {
      calls: calls.map((call) => this.call(call)),
      fault: fault === null ? null : { ...fault, message: this.text(fault.message) ?? anError },
      reply:
        reply === null
          ? null
          : {
              ...reply,
              content: reply.content.map((part) => this.part(part)),
              errors: reply.errors.map((error) => this.text(error) ?? anError),
            },
    };
  }

  private call(call: CallFacts): CallFacts {
    const { refusal, report } = call;
    if (refusal?.slug === 'check_failed')
      return { ...call, refusal: { ...refusal, reason: this.text(refusal.reason) ?? anError } };
    if (report?.valid !== false || report.slug !== 'check_failed') return call;
    return { ...call, report: { ...report, reasons: this.text(report.reasons) ?? anError } };
  }

  private part(part: ReplyPart): ReplyPart {
    if (part.type !== 'tool-result' || !part.isError) return part;
    return { ...part, result: this.text(JSON.stringify(part.result)) ?? toolFailed };
  }

  private text(text: string | null): string | null {
    return text === null || this.onError === undefined ? null : this.onError(new Error(text));
  }
}
