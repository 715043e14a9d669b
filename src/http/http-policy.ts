import { z } from 'zod';
import { count, flag } from '../input/shapes.ts';
import { ToolError } from '../vocabulary/tool-error.ts';

/** Limits on where requests may go and how much of a response is read. */
export type HttpPolicy = {
  /** Hosts that may be called: `api.example.com`, `*.example.com`; `:port` for one port. Default: any public host. */
  allowedHosts?: readonly string[];
  /** Whether loopback, private and link-local addresses may be called; default: false. */
  allowPrivate?: boolean;
  /** Maximum response bytes to read; default: 5 MiB. */
  maxBytes?: number;
};

/** The fields of a policy, for option schemas that include one. */
export const policyShape = {
  allowedHosts: z.array(z.string(), { error: 'an array of host names' }).optional(),
  allowPrivate: flag.optional(),
  maxBytes: count.optional(),
} satisfies Record<keyof HttpPolicy, z.ZodType>;

export type HttpRequest = {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | Uint8Array | FormData | null;
  signal: AbortSignal;
};

export type HttpResponse = {
  status: number;
  statusText: string;
  contentType: string;
  bytes: Uint8Array;
  /** Whether the response was longer than the bytes read. */
  cut: boolean;
};

/** The connection could not be made, or broke: trying again may help. */
export class ConnectionError extends ToolError {}

/** Returns a URL without its query, which may contain a key. */
export function shownUrl(url: URL): string {
  // Not by its origin, which only some schemes have.
  const host = url.href.startsWith(`${url.protocol}//`) ? `//${url.host}` : '';
  return `${url.protocol}${host}${url.pathname}`;
}
