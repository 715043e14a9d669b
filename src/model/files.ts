import { InvalidPromptError, type LanguageModelV4 } from '@ai-sdk/provider';
import type { FilePart, Message } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import { bytesOf, toBase64 } from '../platform/bytes.ts';
import { onNode } from '../platform/node.ts';
import type { HttpPolicy } from '../tools/service/http-policy.ts';

const mostBytes = 32 * 1_024 * 1_024;

type Wanted = { url: string; mediaType: string };
type Downloaded = { mediaType: string; data: string };

/**
 * The files that a conversation names by URL. A `data:` URL is split; what a model can fetch itself goes out as it is; the
 * others are downloaded, once a session, under the checks of a request to a service.
 */
export class NamedFiles {
  private readonly policy: HttpPolicy;
  private readonly wanted: Wanted[] = [];
  private readonly downloads = new Map<string, Promise<Downloaded>>();
  private readonly ready = new Map<string, Downloaded>();
  private taken = 0;

  constructor(policy: HttpPolicy) {
    this.policy = policy;
  }

  /** Downloads the files that the model cannot fetch itself. Rejects if one cannot be had. */
  async prepare(model: LanguageModelV4, messages: readonly Message[], signal: AbortSignal): Promise<void> {
    for (; this.taken < messages.length; this.taken += 1) {
      const message = messages[this.taken];
      if (message !== undefined) this.wanted.push(...urlsIn(message));
    }
    // A malformed one is no fault of the provider, and no other attempt would mend it.
    for (const { url } of this.wanted) splitDataUrl(url);
    if (this.wanted.length === 0) return;
    const supported = (await model.supportedUrls) ?? {};
    const missing = this.wanted.filter(
      (wanted) => !isDataUrl(wanted.url) && !this.ready.has(wanted.url) && !isSupported(wanted, supported),
    );
    await Promise.all(
      missing.map(async (wanted) => {
        const download = this.downloads.get(wanted.url) ?? this.download(wanted, signal);
        this.downloads.set(wanted.url, download);
        // One that failed may succeed in the next attempt.
        download.catch(() => this.downloads.delete(wanted.url));
        this.ready.set(wanted.url, await download);
      }),
    );
  }

  /** Returns a file as it goes out. */
  resolved(part: FilePart): FilePart {
    if (part.data.type !== 'url') return part;
    const file = splitDataUrl(part.data.url) ?? this.ready.get(part.data.url);
    if (file === undefined) return part;
    const isExact = !part.mediaType.endsWith('/*') && part.mediaType !== '';
    return { ...part, mediaType: isExact ? part.mediaType : file.mediaType, data: { type: 'data', data: file.data } };
  }

  private async download({ url, mediaType }: Wanted, signal: AbortSignal): Promise<Downloaded> {
    const { httpRequest } = await onNode('A download', () => import('../tools/service/http-request.ts'));
    const { maxBytes = mostBytes } = this.policy;
    const request = { method: 'GET', url: new URL(url), headers: {}, body: null, signal };
    const refused = (reason: string) =>
      new InvalidPromptError({ prompt: url, message: `The file ${url} could not be downloaded: ${reason}` });
    const response = await httpRequest(request, { ...this.policy, maxBytes }).catch((error) => {
      // A failing connection is a fault of the network, which may pass.
      throw /failed:/.test(messageOf(error)) ? error : refused(messageOf(error));
    });
    if (response.status >= 400) throw refused(`it answered ${response.status}`);
    if (response.cut) throw refused(`it is larger than ${maxBytes} bytes`);
    const [type = mediaType] = response.contentType.split(';');
    return { mediaType: type.trim() || mediaType, data: toBase64(response.bytes) };
  }
}

function urlsIn(message: Message): Wanted[] {
  if (message.role === 'assistant') return [];
  const files = message.content.flatMap((part): FilePart[] => {
    if (part.type === 'file') return [part];
    if (part.type !== 'tool-result' || part.output.type !== 'content') return [];
    return part.output.value.filter((piece) => piece.type === 'file');
  });
  return files.flatMap(({ mediaType, data }) => (data.type === 'url' ? [{ url: data.url, mediaType }] : []));
}

function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}

/** Splits a `data:` URL into its media type and base64; null for any other. Throws if it is malformed. */
function splitDataUrl(url: string): Downloaded | null {
  if (!isDataUrl(url)) return null;
  const comma = url.indexOf(',');
  const [type = '', ...parameters] = url.slice('data:'.length, Math.max(0, comma)).split(';');
  try {
    if (comma === -1) throw new Error('it has no comma');
    const body = url.slice(comma + 1);
    const isBase64 = parameters.at(-1)?.toLowerCase() === 'base64';
    const data = isBase64 ? body : toBase64(bytesOf(decodeURIComponent(body)));
    return { mediaType: type === '' ? 'text/plain' : type, data };
  } catch (error) {
    const message = `The data: URL ${url.slice(0, 60)} is malformed: ${messageOf(error)}`;
    throw new InvalidPromptError({ prompt: url, message });
  }
}

/** Whether a model fetches a URL itself: its media type and address match what it names. */
function isSupported({ url, mediaType }: Wanted, supported: Record<string, RegExp[]>): boolean {
  const [family] = mediaType.split('/');
  const kinds = ['*', '*/*', `${family}/*`, mediaType];
  return Object.entries(supported).some(
    ([kind, patterns]) => kinds.includes(kind) && patterns.some((pattern) => pattern.test(url)),
  );
}
