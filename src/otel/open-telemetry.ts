import { type Context, type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import { z } from 'zod';
import { check } from '../input/check.ts';
import { flag, hasMethods } from '../input/shapes.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { Instruments } from './instruments.ts';
import { runSpan } from './run-span.ts';
import { SessionSpans } from './session-spans.ts';

export type { RunTelemetry, SessionTelemetry, Telemetry, TelemetrySession } from '../observe/telemetry.ts';

export type OpenTelemetryOptions = {
  /** Records instructions, messages, replies, inputs and results, without secrets. Default: false. */
  content?: boolean;
  /** Default: the global ones, which do nothing until an application registers its own. */
  tracerProvider?: TracerProvider;
  meterProvider?: MeterProvider;
};

const optionsSchema = z.strictObject({
  content: flag.optional(),
  tracerProvider: z
    .custom<TracerProvider>((value) => hasMethods(value, 'getTracer'), { error: 'a tracer provider' })
    .optional(),
  meterProvider: z
    .custom<MeterProvider>((value) => hasMethods(value, 'getMeter'), { error: 'a meter provider' })
    .optional(),
} satisfies Record<keyof OpenTelemetryOptions, z.ZodType>);

/**
 * Makes spans and metrics of sessions and runs, after OpenTelemetry's conventions for generative AI: pass it as the `telemetry`
 * of a session. The span of a request or a tool is active while it runs. Throws `PawlError` (`invalid_options`).
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  const {
    content = false,
    tracerProvider,
    meterProvider,
  } = check(optionsSchema, options, 'options', 'invalid_options');
  const tracer = tracerProvider?.getTracer('pawl') ?? trace.getTracer('pawl');
  const instruments = new Instruments(meterProvider?.getMeter('pawl') ?? metrics.getMeter('pawl'));
  const places = new Map<string, Context>();
  return {
    session: (about) => new SessionSpans(about, { tracer, instruments, content, places }),
    run: (about) => runSpan(about, { tracer, instruments }),
  };
}
