import { z } from 'zod';
import { check } from '../../input/check.ts';
import { unexpected } from '../../input/errors.ts';
import { aFunction, flag, hasMethods, headersShape, milliseconds, texts } from '../../input/shapes.ts';
import { lazily } from '../../platform/lazily.ts';

const kinds = lazily(() => {
  const toolNames = z.array(z.string(), { error: 'an array of tool names' });
  const someTools = z.union([z.boolean(), toolNames], { error: 'a boolean or an array of tool names' }).optional();
  const common = {
    optional: flag.optional(),
    allow: toolNames.optional(),
    deny: toolNames.optional(),
    needsApproval: someTools,
    idempotent: someTools,
    timeoutMs: z
      .union([milliseconds, z.record(z.string(), milliseconds)], { error: 'ms, or an object of ms by tool' })
      .optional(),
    handlers: z
      .strictObject({
        elicit: z.union([z.literal('ask'), aFunction], { error: "a function, or 'ask'" }).optional(),
        sample: aFunction.optional(),
      })
      .optional(),
  };
  const strings = z.record(z.string(), z.string(), { error: 'an object of strings' });
  return {
    command: z.strictObject({
      ...common,
      command: z.string({ error: 'a command' }).min(1, { error: 'a command' }),
      args: texts.optional(),
      env: strings.optional(),
      cwd: z.string({ error: 'a directory' }).optional(),
    }),
    url: z.strictObject({
      ...common,
      url: z.url({ protocol: /^https?$/, error: 'an http or https URL' }),
      headers: headersShape(z.string({ error: 'a string' })).optional(),
      auth: z.custom<unknown>(isAuth, { error: 'a function that gives a token, or an OAuthClientProvider' }).optional(),
    }),
    transport: z.strictObject({
      ...common,
      transport: z.custom<unknown>(isTransport, { error: 'an MCP transport, or a function that makes one' }),
    }),
  };
});

function isTransport(value: unknown): boolean {
  return typeof value === 'function' || hasMethods(value, 'start', 'send', 'close');
}

/** A provider of the MCP SDK, or a function. */
function isAuth(value: unknown): boolean {
  return typeof value === 'function' || hasMethods(value, 'tokens', 'saveTokens');
}

const isFunction = (value: unknown) => typeof value === 'function';

/** Throws `invalid_server` if a server definition is invalid. */
export function checkServer(name: string, server: unknown): void {
  const field = `mcpServers.${name}`;
  // Its tools are named `server__tool`: two servers must not mean the same name.
  if (!/^(?!.*(?:__|_$))[A-Za-z0-9_-]{1,32}$/.test(name)) {
    const what = '1 to 32 characters from A-Z, a-z, 0-9, _ and -, with no __ in it and no _ at its end';
    throw unexpected('invalid_server', `the name of ${field}`, name, what);
  }
  const config = typeof server === 'object' && server !== null && 'shared' in server ? server.shared : server;
  const given = typeof config === 'object' && config !== null ? Object.keys(config) : [];
  const kind = (['command', 'url', 'transport'] as const).filter((key) => given.includes(key));
  const [only] = kind;
  if (only === undefined || kind.length > 1) {
    throw unexpected('invalid_server', field, config, 'an object with exactly one of `command`, `url` and `transport`');
  }
  // A function makes the headers, which only each request shows.
  const isMade = typeof config === 'object' && config !== null && 'headers' in config && isFunction(config.headers);
  check<unknown>(kinds()[only], isMade ? { ...config, headers: {} } : config, field, 'invalid_server');
}
