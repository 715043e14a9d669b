import type { SdkStreamPart } from '../../model/sdk-model.ts';
import type { Outline } from './outline.ts';

/** A request, and what its model answered: the parts of its stream, and what was thrown. */
export type RecordedExchange = {
  request: Outline;
  parts: SdkStreamPart[];
  /** Null if nothing was thrown. */
  thrown: ThrownError | null;
};

/** What a model threw, so far as it decides what becomes of it (P-1). */
export type ThrownError = {
  message: string;
  /** That of an HTTP response; null for another error. */
  statusCode: number | null;
  responseBody: string | null;
  /** The response headers that say when to ask again; the others are left out. */
  headers: Record<string, string>;
};

/** The first line of a recording. */
export type RecordingHead = { pawl: 'recording'; version: 1; provider: string; modelId: string };
