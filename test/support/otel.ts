import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { type OpenTelemetryOptions, openTelemetry } from '../../src/otel/open-telemetry.ts';
import { runOverWire, type WireSession } from './session.ts';

/** Providers that keep what they are given. */
export function kept() {
  const spans = new InMemorySpanExporter();
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 2 ** 31 - 1 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  return {
    providers: { tracerProvider, meterProvider },
    tracer: tracerProvider.getTracer('application'),
    spans: () => spans.getFinishedSpans(),
    /** The points of every metric, as `name attributes value`. */
    points: async () => {
      await meterProvider.forceFlush();
      const [collected] = measured.getMetrics().slice(-1);
      await meterProvider.shutdown();
      return (collected?.scopeMetrics ?? []).flatMap((scope) =>
        scope.metrics.flatMap(({ descriptor, dataPoints }) =>
          dataPoints.map((point) => ({ name: descriptor.name, of: point.attributes, value: point.value })),
        ),
      );
    },
  };
}

/** Runs a session over the wire, and keeps its spans and metrics. */
export async function traced(wire: WireSession, options: OpenTelemetryOptions = {}) {
  const given = kept();
  const telemetry = openTelemetry({ ...given.providers, ...options });
  const { result } = await runOverWire({ ...wire, options: { ...wire.options, telemetry } });
  return { ...given, result, all: given.spans() };
}

/** The tree of spans by name, each with those below it. */
export function tree(spans: readonly ReadableSpan[], parent?: string): unknown[] {
  return spans
    .filter((span) => (span.parentSpanContext?.spanId ?? undefined) === parent)
    .sort((one, other) => one.startTime[0] - other.startTime[0] || one.startTime[1] - other.startTime[1])
    .map((span) => {
      const below = tree(spans, span.spanContext().spanId);
      return below.length === 0 ? span.name : [span.name, ...below];
    });
}
