import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import type { PawlUIMessage } from '../../../src/ui/index.ts';

const chatId = 'page-chat';
/** The history of the chat, from the journal. */
const history: PawlUIMessage[] = await fetch(`/api/chat/${chatId}`).then((response) => response.json());

/** What an application's page would be: messages, approvals, a text field, and a button that stops. */
function Chat() {
  const [text, setText] = useState('');
  const { messages, sendMessage, addToolApprovalResponse, stop, status, error } = useChat<PawlUIMessage>({
    id: chatId,
    messages: history,
    resume: true,
    transport: new DefaultChatTransport({ api: '/api/chat' }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return (
    <main>
      {messages.map(({ id, role, parts, metadata }) => (
        <section key={id} data-role={role}>
          {parts.map((part, index) => {
            const key = `${id}-${index}`;
            if (part.type === 'text') return <p key={key}>{part.text}</p>;
            if (part.type === 'data-turn') {
              const failed = part.data.attempts.flatMap(({ slugs }) => slugs);
              return failed.length === 0 ? null : <small key={key}>{failed.join(' ')}</small>;
            }
            if (!isToolUIPart(part)) return null;
            return (
              <div key={key} className="call">
                {`${part.type} ${JSON.stringify(part.input)} ${part.state} ${part.state === 'output-available' ? String(part.output) : ''}`}
                {part.state === 'approval-requested' &&
                  [true, false].map((approved) => (
                    <button
                      type="button"
                      key={String(approved)}
                      onClick={() => addToolApprovalResponse({ id: part.approval.id, approved })}
                    >
                      {approved ? 'Approve' : 'Deny'}
                    </button>
                  ))}
              </div>
            );
          })}
          {metadata !== undefined && <footer>{metadata.status}</footer>}
        </section>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text });
          setText('');
        }}
      >
        <input value={text} onChange={(event) => setText(event.target.value)} />
      </form>
      <button
        type="button"
        onClick={() => {
          void fetch(`/api/chat/${chatId}`, { method: 'DELETE' });
        }}
      >
        Stop
      </button>
      <output>{error === undefined ? status : error.message}</output>
      <button type="button" hidden onClick={() => void stop()} />
    </main>
  );
}

const root = document.getElementById('root');
if (root !== null) createRoot(root).render(<Chat />);
