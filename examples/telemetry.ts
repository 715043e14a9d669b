/** OpenTelemetry spans of a session; the application's own are children of the tool call that made them. */
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { defineAgent, runSession } from 'pawl';
import { openTelemetry } from 'pawl/otel';
import { call, model, report } from './model.ts';

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));

const query = () => trace.getTracer('app').startActiveSpan('SELECT', (span) => span.end());
const agent = defineAgent({
  name: 'clerk',
  models: [model(call('look'), report('Done.'))],
  tools: { look: () => query() ?? 'a row' },
});

await runSession(agent, { prompt: 'Look it up.', telemetry: openTelemetry() });
const spans = exporter.getFinishedSpans();
const [select] = spans.filter(({ name }) => name === 'SELECT');
const above = spans.find((span) => span.spanContext().spanId === select?.parentSpanContext?.spanId);
console.log(spans.length, above?.name);
// 7 execute_tool look
