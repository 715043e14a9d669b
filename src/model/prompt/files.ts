import { InvalidPromptError, type LanguageModelV4 } from '@ai-sdk/provider';
import type { FilePart, Message, TextPart } from '../../../machines/index.ts';
import { ConnectionError, type HttpPolicy, shownUrl } from '../../http/http-policy.ts';
import { messageOf } from '../../input/errors.ts';
import { onNode } from '../../input/on-node.ts';
import { toBase64, utf8Bytes, utf8Text } from '../../platform/bytes.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';

const mostBytes = 32 * 1_024 * 1_024;

/** `isGiven`: a user's message names it, so the session makes no sense without it. */
type Wanted = { url: string; mediaType: string; isGiven: boolean };
type Downloaded = { mediaType: string; data: string };

/** What is known of a file that had to be downloaded, or that is malformed. */
type Known = {
  /** Null while nothing downloads it. */
  download: Promise<Downloaded> | null;
  ready: Downloaded | null;
  /** Why it could not be downloaded. */
  missing: string | null;
  /** Whether its download failed once: it may succeed later. */
  hasFailed: boolean;
  /** Whether a text replaces it for the current model. */
  isReplaced: boolean;
};

/**
 * The files that a conversation names by URL. A `data:` URL is split; what a model can fetch itself goes out as it is; the
 * others are downloaded, once a session, under the checks of a request to a service. If a tool or a model named a file
 * that cannot be downloaded, a text replaces it, since otherwise no later prompt could be sent.
 */
export class NamedFiles {
  private readonly policy: HttpPolicy;
  private readonly wanted: Wanted[] = [];
  /** By URL. */
  private readonly known = new Map<string, Known>();
  private taken = 0;

  constructor(policy: HttpPolicy) {
    this.policy = policy;
  }

  /**
   * Downloads the files that the model cannot fetch itself. Rejects if one from a user cannot be downloaded. Returns null
   * if the messages name no file.
   */
  prepare(model: LanguageModelV4, messages: readonly Message[], signal: AbortSignal): Promise<void> | null {
    for (; this.taken < messages.length; this.taken += 1) {
      const message = messages[this.taken];
      if (message !== undefined) this.wanted.push(...urlsIn(message));
    }
    return this.wanted.length === 0 ? null : this.prepareWanted(model, signal);
  }

  private async prepareWanted(model: LanguageModelV4, signal: AbortSignal): Promise<void> {
    // A malformed one is no fault of the provider, and no other attempt would mend it.
    for (const wanted of this.wanted) await this.attempt(wanted, signal, () => splitDataUrl(wanted.url));
    const supported = (await model.supportedUrls) ?? {};
    const isSent = (wanted: Wanted) => !isDataUrl(wanted.url) && isSupported(wanted, supported);
    const isKnown = ({ url, isGiven }: Wanted) => {
      const known = this.known.get(url);
      return isDataUrl(url) || (known !== undefined && (known.ready !== null || (known.missing !== null && !isGiven)));
    };
    const others = this.wanted.filter((wanted) => !isKnown(wanted) && !isSent(wanted));
    await Promise.all(
      others.map((wanted) =>
        this.attempt(wanted, signal, async () => {
          const known = this.of(wanted.url);
          const download = known.download ?? this.download(wanted, signal);
          known.download = download;
          // One that failed may succeed in the next attempt.
          download.catch(() => {
            known.download = null;
          });
          known.ready = await download;
          known.missing = null;
        }),
      ),
    );
    for (const known of this.known.values()) known.isReplaced = false;
    for (const wanted of this.wanted) {
      const known = this.known.get(wanted.url);
      if (known !== undefined && known.missing !== null && !isSent(wanted)) known.isReplaced = true;
    }
  }

  private of(url: string): Known {
    const known = this.known.get(url);
    if (known !== undefined) return known;
    const unknown = { download: null, ready: null, missing: null, hasFailed: false, isReplaced: false };
    this.known.set(url, unknown);
    return unknown;
  }

  /** Runs a task that reads a file. Rejects for a user's file, and for the first failure that may pass. */
  private async attempt({ url, isGiven }: Wanted, signal: AbortSignal, task: () => unknown): Promise<void> {
    try {
      await task();
    } catch (error) {
      const known = this.of(url);
      const mayPass = !InvalidPromptError.isInstance(error) && !known.hasFailed;
      known.hasFailed = true;
      if (isGiven || signal.aborted || mayPass) throw error;
      known.missing = messageOf(InvalidPromptError.isInstance(error) ? error.cause : error);
    }
  }

  /** Returns a file as it goes out. */
  resolved<Part extends Pick<FilePart, 'mediaType' | 'data'>>(part: Part): Part | TextPart {
    if (part.data.type !== 'url') return part;
    const { url } = part.data;
    const known = this.known.get(url);
    if (known?.isReplaced) return { type: 'text', text: `[${part.mediaType}: ${known.missing}]` };
    const file = splitDataUrl(url) ?? known?.ready ?? null;
    if (file === null) return part;
    const isExact = !part.mediaType.endsWith('/*') && part.mediaType !== '';
    return { ...part, mediaType: isExact ? part.mediaType : file.mediaType, data: { type: 'data', data: file.data } };
  }

  private async download({ url, mediaType }: Wanted, signal: AbortSignal): Promise<Downloaded> {
    const { httpRequest } = await onNode('A download', () => import('../../http/http-request.ts'));
    const { maxBytes = mostBytes } = this.policy;
    const request = { method: 'GET', url: new URL(url), headers: {}, body: null, signal };
    // Its query may be a signature (S-5).
    const file = shownUrl(request.url);
    const refused = (reason: string) => unusable(file, `The file ${file} could not be downloaded: ${reason}`);
    const response = await httpRequest(request, { ...this.policy, maxBytes }).catch((error) => {
      // A failing connection is a fault of the network, which may pass.
      const isRefused = error instanceof ToolError && !(error instanceof ConnectionError);
      throw isRefused ? refused(error.message) : error;
    });
    // A server that is overloaded or down may be back in the next attempt.
    if (response.status >= 500 || response.status === 429)
      throw new Error(`The file ${file} could not be downloaded: it answered ${response.status}`);
    if (response.status >= 400) throw refused(`it answered ${response.status}`);
    if (response.cut) throw refused(`it is larger than ${maxBytes} bytes`);
    const [type = mediaType] = response.contentType.split(';');
    return { mediaType: type.trim() || mediaType, data: toBase64(response.bytes) };
  }
}

/** The error of a file that no other attempt would mend. Its cause has the message without the words of the SDK. */
function unusable(prompt: string, message: string): InvalidPromptError {
  return new InvalidPromptError({ prompt, message, cause: new Error(message) });
}

function urlsIn(message: Message): Wanted[] {
  const isGiven = message.role === 'user';
  const files = message.content.flatMap((part): Pick<FilePart, 'mediaType' | 'data'>[] => {
    if (part.type === 'file' || part.type === 'reasoning-file') return [part];
    if (part.type !== 'tool-result' || part.output.type !== 'content') return [];
    return part.output.value.filter((piece) => piece.type === 'file');
  });
  const urls = files.flatMap(({ mediaType, data }) =>
    data.type === 'url' ? [{ url: data.url, mediaType, isGiven }] : [],
  );
  // A provider knows the addresses of its own files.
  return message.role === 'assistant' ? urls.filter(({ url }) => isDataUrl(url)) : urls;
}

function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}

/** Splits a `data:` URL into its media type and base64; null for any other. Throws if it is malformed. */
function splitDataUrl(url: string): Downloaded | null {
  if (!isDataUrl(url)) return null;
  const malformed = (why: string) => unusable(url, `The data: URL ${url.slice(0, 60)} is malformed: ${why}`);
  const comma = url.indexOf(',');
  if (comma === -1) throw malformed('it has no comma');
  const [type = '', ...parameters] = url
    .slice('data:'.length, comma)
    .split(';')
    .map((one) => one.trim());
  const mediaType = type === '' ? 'text/plain' : type;
  const bytes = unescaped(url.slice(comma + 1));
  if (parameters.at(-1)?.toLowerCase() !== 'base64') return { mediaType, data: toBase64(bytes) };
  const data = utf8Text(bytes).replaceAll(/\s/g, '');
  if (!/^[\w+/-]*={0,2}$/.test(data)) throw malformed('it is not base64');
  return { mediaType, data };
}

/** Returns the bytes that a part of a URL stands for. As in browsers, a `%` without digits is one. */
function unescaped(text: string): Uint8Array {
  const bytes = utf8Bytes(text);
  if (!text.includes('%')) return bytes;
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const [high, low] = bytes[at] === percent ? [digitOf(bytes[at + 1]), digitOf(bytes[at + 2])] : [-1, -1];
    const isEscape = high !== -1 && low !== -1;
    bytes[length] = isEscape ? 16 * high + low : (bytes[at] ?? 0);
    length += 1;
    if (isEscape) at += 2;
  }
  return bytes.subarray(0, length);
}

const percent = 0x25;

/** Returns the value of a hexadecimal digit; -1 for any other character. */
function digitOf(byte = 0): number {
  return '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase());
}

/** Whether a model fetches a URL itself: its media type and address match what it names. */
function isSupported({ url, mediaType }: Wanted, supported: Record<string, RegExp[]>): boolean {
  const [family] = mediaType.split('/');
  const kinds = ['*', '*/*', `${family}/*`, mediaType];
  return Object.entries(supported).some(
    ([kind, patterns]) => kinds.includes(kind) && patterns.some((pattern) => pattern.test(url)),
  );
}
