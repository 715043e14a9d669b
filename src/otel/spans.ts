import {
  type Attributes,
  type Context,
  context,
  type Link,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { attributes } from './conventions.ts';
import type { Instruments } from './instruments.ts';

export type SpansOptions = {
  tracer: Tracer;
  instruments: Instruments;
  /** Whether prompts, replies, inputs and results are recorded. */
  content: boolean;
  /** Contexts of sessions, by id, and of running calls, by `SESSION/CALL`: the parents of sub-agents' spans. */
  places: Map<string, Context>;
};

/** An open span. `measured` names its operation in the metrics; null for what the conventions do not measure. */
export type Open = { span: Span; within: Context; measured: Attributes | null; startedAt: number };

/** The spans under that of a session. */
export class Spans {
  protected readonly options: SpansOptions;
  /** The parent of the session's span: the context active when it was made, or the call that started a sub-agent. */
  protected above = context.active();
  protected session: Open | null = null;

  constructor(options: SpansOptions) {
    this.options = options;
  }

  protected open(
    name: string,
    parent: Open | null,
    startedAt: number,
    named: Attributes,
    measured: Attributes | null,
    { kind = SpanKind.INTERNAL, links = [] }: { kind?: SpanKind; links?: Link[] } = {},
  ): Open {
    const under = (parent ?? this.session)?.within ?? this.above;
    const options = { kind, links, startTime: startedAt, attributes: { ...measured, ...named } };
    const span = this.options.tracer.startSpan(name, options, under);
    return { span, within: trace.setSpan(under, span), measured, startedAt };
  }

  protected end(
    { span, measured, startedAt }: Open,
    endedAt: number,
    slug: string | null,
    detail: string | null,
  ): void {
    if (slug !== null) {
      span.setAttribute(attributes.errorType, slug);
      span.setStatus({ code: SpanStatusCode.ERROR, message: detail ?? slug });
    }
    span.end(endedAt);
    if (measured !== null) this.options.instruments.ended({ name: measured, startedAt, endedAt, slug });
  }
}
