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
type Decide = (answer: { id: string; approved: boolean; reason?: string }) => unknown;

function Chat({ id, history }: { id: string; history: PawlUIMessage[] }) {
  const [text, setText] = useState('');
  const end = useRef<HTMLDivElement>(null);
  const { messages, sendMessage, regenerate, addToolApprovalResponse, status, error } = useChat<PawlUIMessage>({
    id,
    messages: history,
    resume: history.length > 0, // a page that was loaded again joins the running session
    transport: new DefaultChatTransport({ api: '/api/chat' }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const isBusy = status === 'submitted' || status === 'streaming';
  const last = messages.at(-1);
  const hasFailed = last?.metadata?.status === 'failed' || error !== undefined;
  useEffect(() => void end.current?.scrollIntoView({ block: 'end' }));
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '') void sendMessage({ text });
    setText('');
  };
  return (
    <main>
      <div className="messages" aria-live="polite">
        {messages.length === 0 && <p className="hint">Ask for something, such as “Mark the bill of May as paid.”</p>}
        {messages.map((message) => (
          <article key={message.id} className={message.role}>
            {message.parts.map((part, index) => (
              <PartView key={`${message.id}-${index}`} part={part} decide={addToolApprovalResponse} />
            ))}
            {message.metadata?.requests && (
              <footer>{`${message.metadata.status} · ${message.metadata.requests} requests`}</footer>
            )}
          </article>
        ))}
        {isBusy && <p className="hint">working …</p>}
        {!isBusy && hasFailed && (
          <p className="failed" role="alert">
            It failed: {(last?.metadata?.slugs ?? []).join(', ') || error?.message}.{' '}
            <button type="button" onClick={() => void regenerate()}>
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
  const answer = (approved: boolean) => decide({ id: part.approval?.id ?? '', approved, ...(reason && { reason }) });
  return (
    <div className={`call ${part.state}`}>
      <b>{getToolName(part)}</b> {path} {Object.keys(input).length > 0 && <code>{JSON.stringify(input)}</code>}{' '}
      <small>{words[part.state] ?? 'running'}</small>
      {old_text !== undefined && (
        <pre>
          <del>{old_text}</del>
          <ins>{new_text}</ins>
        </pre>
      )}
      {part.state === 'output-error' && <p className="failed">{part.errorText}</p>}
      {part.state === 'approval-requested' && (
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

const chats: ListedChat[] = await fetch('/api/chats').then((response) => response.json());
const id = location.hash.slice(1) || crypto.randomUUID();
history.replaceState(null, '', `#${id}`);
addEventListener('hashchange', () => location.reload());
const isKnown = chats.some(({ chatId }) => chatId === id);
const known = isKnown ? await fetch(`/api/chat/${id}`).then((response) => response.json()) : [];
createRoot(document.getElementById('root') as HTMLElement).render(
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
    <Chat id={id} history={known} />
  </>,
);
