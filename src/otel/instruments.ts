import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import type { SessionEvent } from '../observe/events.ts';
import { attributes, durations, metrics } from './conventions.ts';

/** The boundaries, in seconds, that the conventions advise. */
const seconds = {
  advice: {
    explicitBucketBoundaries: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  },
};
const tokens = {
  advice: {
    explicitBucketBoundaries: [
      1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
    ],
  },
};

/** What the metrics need to know of an operation. */
export type MeasuredOperation = { name: Attributes; startedAt: number; endedAt: number; slug: string | null };

/** The metrics of sessions: those of the conventions, and Pawl's own. */
export class Instruments {
  private readonly duration;
  /** By the operation that each measures alone. */
  private readonly durationOf: ReadonlyMap<unknown, Histogram>;
  private readonly usage;
  private readonly firstChunk;
  private readonly chunk;
  private readonly sessions;
  private readonly requests;
  private readonly cost;
  private readonly slugs;
  private readonly collapses;
  private readonly answers;

  constructor(meter: Meter) {
    this.duration = meter.createHistogram(metrics.operationDuration, {
      unit: 's',
      description: 'Duration of an operation.',
      ...seconds,
    });
    const histograms = new Map(
      [...new Set(Object.values(durations))].map((name) => [
        name,
        meter.createHistogram(name, { unit: 's', description: `Duration of ${name.split('.')[1]}.`, ...seconds }),
      ]),
    );
    this.durationOf = new Map(
      Object.entries(durations).flatMap(([operation, name]) => {
        const histogram = histograms.get(name);
        return histogram === undefined ? [] : [[operation, histogram]];
      }),
    );
    this.chunk = meter.createHistogram(metrics.timePerChunk, {
      unit: 's',
      description: 'Time from one piece of a reply to the next.',
      ...seconds,
    });
    this.usage = meter.createHistogram(metrics.tokenUsage, {
      unit: '{token}',
      description: 'Tokens of a request.',
      ...tokens,
    });
    this.firstChunk = meter.createHistogram(metrics.timeToFirstChunk, {
      unit: 's',
      description: 'Time to the first piece of a reply.',
      ...seconds,
    });
    this.sessions = meter.createCounter('pawl.sessions', { description: 'Sessions that ended, by status.' });
    this.requests = meter.createCounter('pawl.requests', { description: 'LLM requests.' });
    this.cost = meter.createCounter('pawl.cost', {
      unit: 'USD',
      description: 'Cost of the requests that have a price.',
    });
    this.slugs = meter.createCounter('pawl.slugs', { description: 'Reasons of failed attempts and sessions.' });
    this.collapses = meter.createCounter('pawl.collapses', { description: 'Collapses, by reason.' });
    this.answers = meter.createCounter('pawl.answers', { description: 'Answered tool calls, by tool and reason.' });
  }

  /** Counts what an event says by itself. `agent` names whose session it is; the tools of `unknown` calls do not exist. */
  count(event: SessionEvent, agent: Attributes, unknown: ReadonlySet<string>): void {
    switch (event.type) {
      case 'session.collapsed':
        this.collapses.add(1, { ...agent, 'pawl.reason': event.reason });
        return;
      case 'attempt.failed':
        for (const slug of event.slugs) this.slugs.add(1, { ...agent, 'pawl.slug': slug });
        return;
      case 'session.failed':
      case 'session.aborted':
      case 'session.suspended': {
        // A suspended session has not failed; one that lost its journal has.
        const slugs = event.failure.slugs.filter((slug) => slug !== 'suspended');
        for (const slug of slugs) this.slugs.add(1, { ...agent, 'pawl.slug': slug });
        return;
      }
      case 'tool.answered':
        this.answers.add(1, {
          ...agent,
          // A model can invent any number of tool names, and each would become a time series.
          [attributes.toolName]: unknown.has(event.callId) ? 'unknown' : event.name,
          'pawl.reason': event.slug ?? (event.executed ? 'executed' : 'acknowledged'),
        });
        return;
      default:
        return;
    }
  }

  requested(name: Attributes): void {
    this.requests.add(1, name);
  }

  ended({ name, startedAt, endedAt, slug }: MeasuredOperation): void {
    // A clock that was set back gives no negative time, which a histogram would drop.
    const took = Math.max(0, endedAt - startedAt) / 1_000;
    const about = { ...name, ...(slug !== null && { [attributes.errorType]: slug }) };
    this.duration.record(took, about);
    this.durationOf.get(name[attributes.operation])?.record(took, about);
  }

  /** `began` is the time to the first piece of the reply, in ms; null if none was seen. */
  replied(
    { usage, costUsd }: Pick<Extract<SessionEvent, { type: 'attempt.replied' }>, 'usage' | 'costUsd'>,
    began: number | null,
    name: Attributes,
  ): void {
    if (usage.input > 0) this.usage.record(usage.input, { ...name, [attributes.tokenType]: 'input' });
    if (usage.output > 0) this.usage.record(usage.output, { ...name, [attributes.tokenType]: 'output' });
    if (costUsd !== null && costUsd > 0) this.cost.add(costUsd, name);
    if (began !== null) this.firstChunk.record(began / 1_000, name);
  }

  /** A piece of a reply came this long after the one before, in ms. */
  piece(afterMs: number, name: Attributes): void {
    this.chunk.record(Math.max(0, afterMs) / 1_000, name);
  }

  sessionEnded(status: string, agent: Attributes): void {
    this.sessions.add(1, { ...agent, 'pawl.status': status });
  }
}
