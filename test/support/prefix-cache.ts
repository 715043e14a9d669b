import { createHash } from 'node:crypto';
import type { RecordedRequest } from '../../src/testing/index.ts';

type Piece = { text: string; isMarked: boolean };
type Marked = { cache_control?: unknown };

/** Input tokens of a request, of which the cache gave and took some. */
export type CountedInput = { input: number; cacheRead: number; cacheWrite: number };

/**
 * Counts what a provider's cache of prefixes would give for each request of a session, at four bytes a token. Anthropic
 * writes where a request is marked, and looks 20 blocks back from a mark; OpenAI reads the longest prefix of any earlier
 * request.
 */
export class PrefixCache {
  private readonly wire: 'openai' | 'anthropic';
  private readonly written = new Set<string>();

  constructor(wire: 'openai' | 'anthropic') {
    this.wire = wire;
  }

  take({ body }: Pick<RecordedRequest, 'body'>): CountedInput {
    const hash = createHash('sha256');
    let tokens = 0;
    const prefixes = piecesOf(body).map(({ text, isMarked }) => {
      hash.update(text);
      tokens += Buffer.byteLength(text) / 4;
      return { key: hash.copy().digest('hex'), tokens: Math.ceil(tokens), isMarked };
    });
    const known = (from: number, to: number) =>
      prefixes.slice(Math.max(0, from), to).findLast(({ key }) => this.written.has(key))?.tokens ?? 0;
    const isAnthropic = this.wire === 'anthropic';
    const marks = prefixes.flatMap(({ isMarked }, at) => (isMarked || !isAnthropic ? [at] : []));
    const cacheRead = Math.max(0, ...marks.map((at) => known(isAnthropic ? at - 20 : 0, at + 1)));
    for (const at of marks) this.written.add(prefixes[at]?.key ?? '');
    const upToMark = prefixes[marks.at(-1) ?? -1]?.tokens ?? 0;
    return { input: Math.ceil(tokens), cacheRead, cacheWrite: isAnthropic ? Math.max(0, upToMark - cacheRead) : 0 };
  }
}

/** The tools, the instructions and the blocks of a body, without their marks. */
function piecesOf(body: RecordedRequest['body']): Piece[] {
  const {
    tools = [],
    system = [],
    messages,
    cache_control: ofAll,
  } = body as RecordedRequest['body'] & {
    system?: unknown[];
    cache_control?: unknown;
  };
  const blocks = (messages as readonly { role: string; content: unknown }[]).flatMap(({ content, ...rest }) =>
    Array.isArray(content) ? content.map((block) => ({ rest, block })) : [{ rest, block: { content } }],
  );
  const pieces = [...tools, ...system, ...blocks.map(({ rest, block }) => ({ ...rest, ...block }))].map((piece) => {
    const { cache_control: mark, ...own } = piece as Marked;
    return { text: JSON.stringify(own), isMarked: mark !== undefined };
  });
  const last = pieces.at(-1);
  if (last !== undefined && ofAll !== undefined) last.isMarked = true;
  return pieces;
}

/** US dollars for input, at 3 a million tokens: a tenth for what is read from the cache, a quarter more for what is written. */
export function inputCost(counted: readonly CountedInput[]): number {
  return counted.reduce((sum, { input, cacheRead, cacheWrite }) => {
    return sum + (3 * (input - cacheRead - cacheWrite) + 0.3 * cacheRead + 3.75 * cacheWrite) / 1_000_000;
  }, 0);
}
