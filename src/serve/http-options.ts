import { z } from 'zod';
import { check } from '../input/check.ts';
import { PawlError } from '../input/errors.ts';
import { milliseconds, port, texts } from '../input/shapes.ts';
import { lazily } from '../platform/lazily.ts';

/** Where a server listens, and whom it answers. Off the loopback address, `auth`, `hosts` and `origins` are required. */
export type CallerOptions = {
  /** Default: any free port. */
  port?: number;
  /** Default: 127.0.0.1. */
  host?: string;
  /** The token that clients must send: `Authorization: Bearer TOKEN`, or `x-api-key: TOKEN`. */
  auth?: { bearer: string };
  /** The accepted hosts in `Host` headers, such as `agents.example.com`, with any port. Default: the names of loopback. */
  hosts?: readonly string[];
  /** The origins of pages that are answered; clients that are no pages send none. Default: those of loopback. */
  origins?: readonly string[];
};

/** The options of an MCP server, whose clients may come back. */
export type HttpOptions = CallerOptions & {
  /** Ms after which the session of a client that vanished during a call is aborted; default: 5,000. */
  disconnectGraceMs?: number;
};

const theOrigin = 'an origin as browsers send it, such as "https://app.example.com"';
const anOrigin = z.string({ error: theOrigin }).refine(isOrigin, { error: theOrigin });
const aToken = 'a token of at least 16 characters';
export const callerSchema = lazily(() =>
  z.strictObject({
    port: port.optional(),
    host: z.string({ error: 'a host name or address' }).optional(),
    auth: z.strictObject({ bearer: z.string({ error: aToken }).min(16, { error: aToken }) }).optional(),
    hosts: texts.optional(),
    origins: z.array(anOrigin, { error: 'an array of origins' }).optional(),
  } satisfies Record<keyof CallerOptions, z.ZodType>),
);
export const httpSchema = lazily(() => callerSchema().extend({ disconnectGraceMs: milliseconds.optional() }));

/** Browsers write an origin in one way, which none with a path or a usual port ever equals. */
function isOrigin(text: string): boolean {
  if (/^https?:/i.test(text)) return URL.canParse(text) && new URL(text).origin === text.toLowerCase();
  return /^(null|[a-z][a-z\d+.-]*:\/\/[^/?#\s]*)$/i.test(text);
}

const loopback = ['127.0.0.1', '::1', 'localhost'];

/** Checks the options. Off loopback, refuses to start without a token and lists of hosts and origins. */
export function checkHttp(
  schema: z.ZodType<z.output<ReturnType<typeof callerSchema>>>,
  given: unknown,
  field: string,
): void {
  const { host = '127.0.0.1', ...options } = check(schema, given, field, 'invalid_options');
  if (loopback.includes(host)) return;
  const lacking = (['auth', 'hosts', 'origins'] as const).filter((name) => options[name] === undefined);
  if (lacking.length === 0) return;
  throw new PawlError(
    'invalid_options',
    lacking.map((name) => `\`${field}.${name}\` is required to serve on ${host}, which others can reach.`),
  );
}
