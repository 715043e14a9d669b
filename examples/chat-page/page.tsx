/** A chat with `useChat`: history from the journal, calls to approve, failures with a retry. */
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from 'ai';
import type { ListedChat, PawlUIMessage } from 'pawl/ui';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import Markdown from 'react-markdown';
import remarkGfm from 'remark-gfm';

type Part = PawlUIMessage['parts'][number];
type Decide = ((answer: { id: string; approved: boolean; reason?: string }) => unknown) | null;

const listed = (): Promise<ListedChat[]> => fetch('/api/chats').then((response) => response.json());

function Page({ id, list, history }: { id: string; list: ListedChat[]; history: PawlUIMessage[] }) {
  const [chats, setChats] = useState(list);
  const [text, setText] = useState('');
  const end = useRef<HTMLDivElement>(null);
  const { messages, sendMessage, status, error, ...chat } = useChat<PawlUIMessage>({
    id,
    messages: history,
    resume: history.length > 0, // a page that was loaded again joins the running session
    transport: new DefaultChatTransport({ api: '/api/chat' }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const isBusy = status === 'submitted' || status === 'streaming';
  const last = messages.at(-1)?.metadata;
  useEffect(() => void end.current?.scrollIntoView({ block: 'end' }));
  useEffect(() => void (isBusy || listed().then(setChats)), [isBusy]);
  // A call that was left open by a session that is over can't be decided any more.
  const deciderIn = ({ metadata }: PawlUIMessage) =>
    /running|waiting/.test(metadata?.status ?? '') ? chat.addToolApprovalResponse : null;
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '') void sendMessage({ text });
    setText('');
  };
  return (
    <>
      <nav>
        <h1>Notes</h1>
        <a href={`#${crypto.randomUUID()}`}>New chat</a>
        {chats.map((chat) => (
          <a key={chat.chatId} href={`#${chat.chatId}`} aria-current={chat.chatId === id}>
            {chat.title}
          </a>
        ))}
      </nav>
      <main>
        <div className="messages" aria-live="polite">
          {messages.length === 0 && <p className="hint">Ask for something, such as “Mark the bill of May as paid.”</p>}
          {messages.map((message) => (
            <article key={message.id} className={message.role}>
              {message.parts.map((part, index) => (
                <PartView key={`${message.id}-${index}`} part={part} decide={deciderIn(message)} />
              ))}
              {message.metadata?.requests && (
                <footer>{`${message.metadata.status} · requests: ${message.metadata.requests}`}</footer>
              )}
            </article>
          ))}
          {isBusy && <p className="hint">working …</p>}
          {!isBusy && (last?.status === 'failed' || error) && (
            <p className="failed" role="alert">
              No answer came of it: {last?.slugs.join(', ') || error?.message}.{' '}
              <button type="button" onClick={() => void chat.regenerate()}>
                Try again
              </button>
            </p>
          )}
          <div ref={end} />
        </div>
        <form onSubmit={send}>
          <input value={text} onChange={(event) => setText(event.target.value)} aria-label="Message" />
          {isBusy ? (
            // `stop()` of useChat would only end the stream; the session is ended here.
            <button type="button" onClick={() => void fetch(`/api/chat/${id}`, { method: 'DELETE' })}>
              Stop
            </button>
          ) : (
            <button type="submit">Send</button>
          )}
        </form>
      </main>
    </>
  );
}

function PartView({ part, decide }: { part: Part; decide: Decide }) {
  if (part.type === 'text')
    return (
      <div className="text">
        <Markdown remarkPlugins={[remarkGfm]}>{part.text}</Markdown>
      </div>
    );
  if (part.type === 'data-turn') {
    const failed = part.data.attempts.flatMap(({ slugs }) => slugs);
    return failed.length === 0 ? null : <p className="hint">tried again after: {failed.join(', ')}</p>;
  }
  return isToolUIPart(part) ? <Call part={part} decide={decide} /> : null;
}

function Call({ part, decide }: { part: Extract<Part, { toolCallId: string }>; decide: Decide }) {
  const [reason, setReason] = useState('');
  const { path, old_text, new_text, ...input } = (part.input ?? {}) as Record<string, string>;
  const answer = (approved: boolean) => decide?.({ id: part.approval?.id ?? '', approved, ...(reason && { reason }) });
  return (
    <div className={`call ${part.state}`}>
      <b>{getToolName(part)}</b> {path} {Object.keys(input).length > 0 && <code>{JSON.stringify(input)}</code>}{' '}
      <small>{!decide && !/^output/.test(part.state) ? 'not run' : (words[part.state] ?? 'running')}</small>{' '}
      {part.approval?.reason}
      {old_text !== undefined && part.state !== 'output-denied' && (
        <pre>
          <del>{old_text}</del>
          <ins>{new_text}</ins>
        </pre>
      )}
      {part.state === 'output-error' && <p className="failed">{part.errorText}</p>}
      {decide && part.state === 'approval-requested' && (
        <div className="decision">
          <button type="button" onClick={() => answer(true)}>
            Approve
          </button>
          <button type="button" onClick={() => answer(false)}>
            Deny
          </button>
          <input value={reason} onChange={(event) => setReason(event.target.value)} placeholder="Reason" />
        </div>
      )}
    </div>
  );
}

const words: Record<string, string> = {
  'approval-requested': 'needs your approval',
  'output-available': 'done',
  'output-denied': 'denied',
  'output-error': 'failed',
};

const [list, id] = [await listed(), location.hash.slice(1) || crypto.randomUUID()];
history.replaceState(null, '', `#${id}`);
addEventListener('hashchange', () => location.reload());
const known = list.some(({ chatId }) => chatId === id) ? await (await fetch(`/api/chat/${id}`)).json() : [];
createRoot(document.getElementById('root') as HTMLElement).render(<Page id={id} list={list} history={known} />);
