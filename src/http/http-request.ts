import type { Agent } from 'undici';
import { ToolError } from '../vocabulary/tool-error.ts';
import { ConnectionError, type HttpPolicy, type HttpRequest, type HttpResponse, shownUrl } from './http-policy.ts';
import { isPrivate, privateText, publicLookup } from './public-addresses.ts';
import { noTimeouts } from './undici-fetch.ts';

const mostRedirects = 5;
const defaultMaxBytes = 5 * 1_024 * 1_024;
/** The only headers sent to another origin; any other header may be a credential. */
const harmlessHeaders = ['accept', 'accept-language', 'content-type', 'user-agent'];

/**
 * Sends a request within a policy. Redirects obey the policy too, and another origin does not get the credentials.
 * Each address is checked at connect time, so that a host name cannot be repointed after the check.
 */
export async function httpRequest(request: HttpRequest, policy: HttpPolicy): Promise<HttpResponse> {
  const { fetch, ...agentOf } = await loadAgents();
  let { method, url } = request;
  let { headers, body } = await ready(request);
  for (let hop = 0; ; hop += 1) {
    checkUrl(url, policy);
    const place = `${method} ${shownUrl(url)}`;
    const broken = (error: unknown): never => {
      throw request.signal.aborted ? error : new ConnectionError(`${place} failed: ${causeOf(error)}`);
    };
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: request.signal,
      dispatcher: policy.allowPrivate === true ? agentOf.open : agentOf.public,
      ...(body !== null && { body }),
    }).catch(broken);
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) {
      const maxBytes = policy.maxBytes ?? defaultMaxBytes;
      const { bytes, cut } = await readUpTo(response.body, maxBytes).catch(broken);
      const { status, statusText } = response;
      return { status, statusText, contentType: response.headers.get('content-type') ?? '', bytes, cut };
    }
    await response.body?.cancel();
    if (hop === mostRedirects)
      throw new ToolError(`${shownUrl(request.url)} redirects more than ${mostRedirects} times.`);
    if (!URL.canParse(location, url.href)) throw new ToolError(`${shownUrl(url)} redirects to an invalid URL.`);
    const next = new URL(location, url);
    const isElsewhere = next.origin !== url.origin;
    if (isElsewhere) headers = harmless(headers);
    if ((response.status === 303 && method !== 'HEAD') || (response.status < 303 && method === 'POST')) {
      method = 'GET';
      body = null;
      headers = without(headers, ['content-type', 'content-length']);
    }
    if (isElsewhere && body !== null) {
      throw new ToolError(
        `${method} ${shownUrl(url)} redirects (${response.status}) to ${shownUrl(next)}; the body was not sent to another origin.`,
      );
    }
    url = next;
  }
}

/** Encodes a form as bytes, and sets the content type with its boundary. */
async function ready({
  headers,
  body,
}: HttpRequest): Promise<{ headers: Record<string, string>; body: string | Uint8Array | null }> {
  if (!(body instanceof FormData)) return { headers: { ...headers }, body };
  const form = new Response(body);
  const type = form.headers.get('content-type') ?? 'multipart/form-data';
  return { headers: { ...headers, 'content-type': type }, body: new Uint8Array(await form.arrayBuffer()) };
}

function checkUrl(url: URL, { allowedHosts, allowPrivate }: HttpPolicy): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new ToolError(`The protocol ${url.protocol} is not allowed; use http or https.`);
  }
  if (allowedHosts !== undefined && !allowedHosts.some((allowed) => hostMatches(url, allowed))) {
    throw new ToolError(`The host ${url.host} is not allowed; allowed hosts: ${allowedHosts.join(', ')}.`);
  }
  const address = url.hostname.replace(/^\[|\]$/g, '');
  if (allowPrivate !== true && isPrivate(address)) throw new ToolError(privateText(address));
}

function hostMatches(url: URL, allowed: string): boolean {
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(allowed.toLowerCase()) ?? [];
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false;
  return name.startsWith('*.') ? url.hostname.endsWith(name.slice(1)) : url.hostname === name;
}

type Agents = { fetch: typeof import('undici').fetch; public: Agent; open: Agent };
let agents: Promise<Agents> | null = null;

/** Loads undici at the first request, so that programs without requests do not pay for it. */
function loadAgents(): Promise<Agents> {
  agents ??= import('undici').then(({ Agent: NewAgent, fetch }) => ({
    fetch,
    public: new NewAgent({ ...noTimeouts, connect: { lookup: publicLookup } }),
    open: new NewAgent(noTimeouts),
  }));
  return agents;
}

function harmless(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmlessHeaders.includes(name.toLowerCase())));
}

function without(headers: Record<string, string>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())));
}

async function readUpTo(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<{ bytes: Uint8Array; cut: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), cut: true };
  }
  return { bytes: Buffer.concat(chunks), cut: false };
}

function causeOf(error: unknown): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause.message !== '') messages.push(cause.message);
  return messages.at(-1) ?? String(error);
}
