import { readUIMessageStream, type UIMessage } from 'ai';
import { z } from 'zod';
import type { UserMessage } from '../../../machines/index.ts';
import { check } from '../../input/check.ts';
import { aFunction, nonBlank, texts } from '../../input/shapes.ts';
import { checkJournal } from '../../journal/given.ts';
import {
  type Journal,
  type JournaledSession,
  journalFormat,
  matchesQuery,
  type SessionHead,
} from '../../journal/journal.ts';
import { lazily } from '../../platform/lazily.ts';
import { withoutSecrets } from '../../secrets/redact.ts';
import { readSession } from '../../session/replay/replay-session.ts';
import { type Metadata, metadataShape } from '../../vocabulary/metadata.ts';
import type { OnError } from '../masked-errors.ts';
import type { PawlUIMessage } from '../ui-message.ts';
import { toUIMessageStream } from '../ui-message-stream.ts';
import { beginningOf } from './history.ts';

export type UIHistoryOptions = {
  chatId: string;
  /** Only of sessions of this agent. Default: of all. */
  agent?: string;
  /** Texts that no message may show, such as the agent's secrets (S-5). */
  secrets?: readonly string[];
  /** What is shown of an error of a provider or a tool (see `UIStreamOptions`). */
  onError?: OnError;
};

const historySchema = lazily(() =>
  z.strictObject({
    chatId: nonBlank,
    agent: nonBlank.optional(),
    secrets: texts.optional(),
    onError: aFunction.optional(),
  } satisfies Record<keyof UIHistoryOptions, z.ZodType>),
);

/**
 * Returns the messages of a chat as a page had them: what the user wrote, and each reply with its tool calls, approvals,
 * files and data. Where a message was edited or a reply regenerated, the later version is returned. The id of a reply is that of its
 * session. Throws `invalid_options`.
 */
export async function toUIMessages(journal: Journal, options: UIHistoryOptions): Promise<UIMessage[]> {
  checkJournal(journal);
  const { chatId, agent, secrets = [], onError } = check(historySchema(), options, 'options', 'invalid_options');
  const rows = await journal.list({ idPrefix: `${chatId}:`, ...(agent !== undefined && { agent }) });
  const newest = rows.toSorted((one, other) => other.createdAt - one.createdAt)[0]?.sessionId ?? null;
  const messages: UIMessage[] = [];
  const own = rows.map(({ sessionId }) => sessionId);
  for (let sessionId = newest; sessionId !== null && own.includes(sessionId); ) {
    const head = await beginningOf(journal, sessionId);
    // What an earlier version of Pawl wrote cannot be shown, and neither can what it continues.
    if (head === null || head.format !== journalFormat) break;
    const { events } = await readSession(journal, sessionId, { secrets });
    const shown = toUIMessageStream(
      { sessionId, eventsFrom: () => listOf(events) },
      { ...(onError !== undefined && { onError: onError as OnError }) },
    );
    let reply: UIMessage | null = null;
    for await (const message of readUIMessageStream<PawlUIMessage>({ stream: shown as never })) reply = message;
    const parts = addedIn(head).flatMap((message) => partsOf(message, secrets));
    messages.unshift(
      ...(parts.length === 0 ? [] : [{ id: `${sessionId}:user`, role: 'user' as const, parts }]),
      ...(reply === null ? [] : [reply as UIMessage]),
    );
    sessionId = head.chat?.after ?? null;
  }
  return messages;
}

async function* listOf<Item>(items: readonly Item[]): AsyncGenerator<Item, void> {
  yield* items;
}

/** What the user of a chat said for a session. */
function addedIn({ messages, chat }: SessionHead): UserMessage[] {
  return messages.slice(-(chat?.added ?? 1)).flatMap((message) => (message.role === 'user' ? message : []));
}

function partsOf({ content }: UserMessage, secrets: readonly string[]): UIMessage['parts'] {
  return content.flatMap((part): UIMessage['parts'] => {
    if (part.type === 'text') return [{ type: 'text', text: withoutSecrets(part.text, secrets) }];
    const { data, mediaType, filename } = part;
    const url = data.type === 'url' ? data.url : data.type === 'data' ? `data:${mediaType};base64,${data.data}` : '';
    return url === '' ? [] : [{ type: 'file', mediaType, url, ...(filename !== undefined && { filename }) }];
  });
}

export type ListChatsOptions = { agent?: string; metadata?: Metadata };

/** A chat of a journal, for a list of them. Times are epoch ms. */
export type ListedChat = {
  chatId: string;
  /** What the user wrote first. */
  title: string;
  status: JournaledSession['status'];
  createdAt: number;
  updatedAt: number;
};

const listSchema = lazily(() =>
  z.strictObject({
    agent: nonBlank.optional(),
    metadata: metadataShape.optional(),
  } satisfies Record<keyof ListChatsOptions, z.ZodType>),
);

/** Returns the chats of a journal whose last session matches, the latest updated first. Throws `invalid_options`. */
export async function listChats(journal: Journal, options: ListChatsOptions = {}): Promise<ListedChat[]> {
  checkJournal(journal);
  const { agent, metadata } = check(listSchema(), options, 'options', 'invalid_options');
  // By its last session alone is it decided whose a chat is, so all of them are asked for.
  const rows = await journal.list(agent === undefined ? {} : { agent });
  const chats = new Map<string, JournaledSession[]>();
  for (const row of rows) {
    const [, chatId] = /^([\w-]{1,128}):\d+$/.exec(row.sessionId) ?? [];
    if (chatId !== undefined) chats.set(chatId, [...(chats.get(chatId) ?? []), row]);
  }
  const listed: ListedChat[] = [];
  for (const [chatId, sessions] of chats) {
    const matches = (row: JournaledSession) => metadata === undefined || matchesQuery(row, { metadata });
    const first = sessions.toSorted((one, other) => one.createdAt - other.createdAt).find(matches);
    const [last] = sessions.toSorted((one, other) => other.createdAt - one.createdAt);
    if (first === undefined || last === undefined || !matches(last)) continue;
    const head = await beginningOf(journal, first.sessionId);
    const text = (head === null ? [] : addedIn(head))
      .flatMap(({ content }) => content)
      .find(({ type }) => type === 'text');
    const title = text?.type === 'text' ? text.text : '';
    listed.push({ chatId, title, status: last.status, createdAt: first.createdAt, updatedAt: last.updatedAt });
  }
  return listed.toSorted((one, other) => other.updatedAt - one.updatedAt);
}
