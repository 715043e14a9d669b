import { context, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import type { RunTelemetry } from '../observe/telemetry.ts';
import { attributes, operations } from './conventions.ts';
import type { Instruments } from './instruments.ts';

/** The span of a run of a workflow. The sessions that it starts are its children. */
export function runSpan(
  { name: backlog, at: startedAt }: { name: string; at: number },
  { tracer, instruments }: { tracer: Tracer; instruments: Instruments },
): RunTelemetry {
  const name = { [attributes.operation]: operations.run, [attributes.agentName]: backlog };
  const span = tracer.startSpan(`${operations.run} ${backlog}`, { startTime: startedAt, attributes: name });
  const within = trace.setSpan(context.active(), span);
  return {
    around: (work) => context.with(within, work),
    ended: (endedAt, status) => {
      const slug = status === 'succeeded' ? null : status;
      span.setAttribute('pawl.status', status);
      if (slug !== null) {
        span.setAttribute(attributes.errorType, slug);
        span.setStatus({ code: SpanStatusCode.ERROR, message: slug });
      }
      span.end(endedAt);
      instruments.ended({ name, startedAt, endedAt, slug });
    },
  };
}
