import { useState } from 'preact/hooks';
import type { Fact, ReplyPart } from '../../../../../machines/index.ts';
import { tame } from '../../../../platform/text.ts';
import type { ShownRecording } from '../../../recorded/shown-recording.ts';
import type { Exchange } from '../../../study/exchange.ts';
import { FileView, Json, Text } from '../../content/content.tsx';
import { Copy } from '../../content/copy.tsx';
import { Fold } from '../../content/fold.tsx';
import { Slugs } from '../../content/slugs.tsx';
import { short } from '../../text.ts';
import { curlOf } from './copied.ts';
import { MessageView, OutputView } from './parts.tsx';

/** A request as it was sent, against the one before. */
export function RequestPane({ recorded, exchange }: { recorded: ShownRecording; exchange: Exchange | null }) {
  if (exchange === null) return <p class="empty">No request has been sent yet.</p>;
  const { turn, attempt, target, number, request, previous, messages, tools } = exchange;
  const shown = messages.filter(({ change }) => change !== 'kept');
  const kept = messages.length - shown.length;
  return (
    <>
      <h2>
        Request {number} · turn {turn}, attempt {attempt} · {tame(target)}
      </h2>
      {request === null ? (
        <p class="empty">This request was not recorded as sent.</p>
      ) : (
        <p class="copies">
          <Copy
            name="copy as curl"
            title="For an OpenAI-compatible endpoint: BASE_URL says where, API_KEY is its key"
            text={() => curlOf(recorded, exchange) ?? ''}
          />{' '}
          <Copy name="copy as JSON" text={() => JSON.stringify(sentIn(exchange), null, 2)} />
        </p>
      )}
      {previous === null ? null : (
        <p class="hint">
          Compared with the previous request: {kept} kept, {messages.filter(({ change }) => change === 'new').length}{' '}
          new, {messages.filter(({ change }) => change === 'gone').length} gone.
        </p>
      )}
      {request?.instructions == null ? null : (
        <Fold
          key={`instructions-${number}`}
          isOpen={previous === null}
          title={`Instructions${previous !== null && previous.instructions !== request.instructions ? ' (changed)' : ''}`}
        >
          {() => <Text text={request.instructions ?? ''} />}
        </Fold>
      )}
      <Tools tools={tools} />
      {request === null || request.marks === 0 ? null : (
        <p class="hint">
          {request.marks} cache {request.marks === 1 ? 'mark' : 'marks'}: the provider is asked to cache what comes
          before the notice (N-3).
        </p>
      )}
      {kept === 0 ? null : (
        <Fold key={`kept-${number}`} title={`${kept} ${kept === 1 ? 'message' : 'messages'} as before`}>
          {() => <KeptMessages messages={messages.filter(({ change }) => change === 'kept')} />}
        </Fold>
      )}
      <Messages messages={shown} />
      {previous?.notice == null ? null : (
        <div class="message notice gone">
          <div class="who">
            <span class="sign">−</span>system notice <i>from the previous request; it was ephemeral</i>
          </div>
          <Text text={previous.notice} />
        </div>
      )}
      {request?.notice == null ? null : (
        <div class="message notice new">
          <div class="who">
            <span class="sign">⚑</span>system notice <i>ephemeral: in this request only (N-1)</i>
          </div>
          <Text text={request.notice} />
        </div>
      )}
    </>
  );
}

/** A request as Pawl holds it, whichever provider it goes to. */
function sentIn({ target, request, messages, tools }: Exchange) {
  return {
    target,
    instructions: request?.instructions ?? null,
    messages: messages.filter(({ change }) => change !== 'gone').map(({ message }) => message),
    notice: request?.notice ?? null,
    tools: tools.names,
  };
}

/** How many messages are shown before one asks for those before them. */
const mostKept = 40;

function KeptMessages({ messages }: { messages: Exchange['messages'] }) {
  const [count, setCount] = useState(mostKept);
  const earlier = messages.length - count;
  return (
    <>
      {earlier <= 0 ? null : (
        <button type="button" class="more" onClick={() => setCount(count + mostKept)}>
          {`${earlier} earlier: show ${Math.min(earlier, mostKept)} more`}
        </button>
      )}
      <Messages messages={messages.slice(-count)} />
    </>
  );
}

function Messages({ messages }: { messages: Exchange['messages'] }) {
  return (
    <>
      {messages.map(({ message, change, isOmitted }, index) => (
        <MessageView
          key={index}
          message={message}
          mark={change}
          note={isOmitted ? 'its result was left out (T-6)' : ''}
        />
      ))}
    </>
  );
}

function Tools({ tools: { names, added, removed } }: Pick<Exchange, 'tools'>) {
  return (
    <p class="tools">
      Tools: {names.length === 0 ? 'none' : null}
      {names.map((name) => (
        <code key={name} class={added.includes(name) ? 'added' : ''}>
          {tame(name)}
        </code>
      ))}
      {removed.map((name) => (
        <code key={name} class="removed">
          {tame(name)}
        </code>
      ))}
    </p>
  );
}

/** The reply, and what it came to. */
export function ReplyPane({
  exchange,
  streaming,
}: {
  exchange: Exchange | null;
  streaming: readonly { kind: string; text: string }[];
}) {
  const replied = exchange?.replied ?? null;
  if (exchange === null || replied === null) {
    if (streaming.length === 0) return <p class="empty">No reply has arrived yet.</p>;
    return (
      <>
        <h2>The reply so far</h2>
        {streaming.map(({ kind, text }, index) => (
          <div class="message assistant" key={index}>
            <div class="who">{kind}</div>
            <Text kind={kind === 'text' ? 'markdown' : kind} text={text} />
          </div>
        ))}
      </>
    );
  }
  const { reply, fault, usage, costUsd, calls } = replied;
  const { ended } = exchange;
  return (
    <>
      <h2>
        Reply to request {exchange.number}
        {ended === null ? '' : ` · attempt ${ended.type.replace('attempt.', '')}`}
      </h2>
      {ended?.type === 'attempt.failed' ? (
        <p>
          <Slugs of={ended.slugs} /> {tame(ended.detail ?? '')}
        </p>
      ) : null}
      {fault === null ? null : (
        <p class="fault">
          <b>{fault.kind}</b> {fault.status ?? ''} {tame(fault.message)}
        </p>
      )}
      {reply === null ? <p class="empty">Nothing arrived.</p> : null}
      {reply?.content.length === 0 ? <p class="empty">The reply was empty.</p> : null}
      {reply?.content.map((part, index) => (
        <div class="message assistant" key={index}>
          <div class="who">{part.type}</div>
          <ReplyPartView part={part} />
        </div>
      ))}
      {reply?.errors.map((error) => (
        <p class="fault" key={error}>
          {tame(error)}
        </p>
      ))}
      <dl>
        <dt>finish reason</dt>
        <dd>
          {reply?.finishReason == null
            ? 'none'
            : `${reply.finishReason.unified} (${tame(reply.finishReason.raw ?? '–')})`}
        </dd>
        <dt>tokens</dt>
        <dd>
          {short(usage.input)} in ({short(usage.cacheRead)} from the cache, {short(usage.cacheWrite)} into it),{' '}
          {short(usage.output)} out
        </dd>
        <dt>cost</dt>
        <dd>{costUsd === null ? 'no price' : `$${costUsd.toFixed(4)}`}</dd>
      </dl>
      {calls.map((call) => (
        <p key={call.callId} class="hint">
          <b>{tame(call.name)}</b> {call.tool}, input {call.input}
          {call.refusal === null ? '' : `, refused: ${call.refusal.slug}`}{' '}
          {tame(call.input === 'valid' ? '' : call.detail)}
        </p>
      ))}
    </>
  );
}

function ReplyPartView({ part }: { part: ReplyPart }) {
  switch (part.type) {
    case 'text':
      return <Text kind="markdown" text={part.text} />;
    case 'reasoning':
      return <Text kind="reasoning" text={part.text} />;
    case 'tool-call':
      return (
        <div class="callpart">
          <b>→ {tame(part.name)}</b> <Json value={part.input} />
        </div>
      );
    case 'file':
    case 'reasoning-file':
      return <FileView part={part} />;
    default:
      return <Json value={part} />;
  }
}

/** The answers, one for each call, in the order of the calls (C-1). */
export function AnswersPane({ exchange }: { exchange: Exchange | null }) {
  const calls = exchange?.replied?.calls ?? [];
  if (calls.length === 0) return <p class="empty">The reply has no tool calls.</p>;
  const answers = new Map((exchange?.answers ?? []).map((answer) => [answer.index, answer]));
  return (
    <>
      <h2>
        {answers.size} of {calls.length} calls answered
      </h2>
      {calls.map((call, index) => {
        const answer = answers.get(index);
        return (
          <div
            class={`message tool ${answer === undefined ? 'open' : answer.slug === null ? '' : 'failed'}`}
            key={call.callId}
          >
            <div class="who">
              {index + 1} · {tame(call.name)}{' '}
              {answer === undefined ? <i>no answer yet</i> : <i>{whoAnswered(answer)}</i>}
              {answer?.slug == null ? null : <span class="slug"> {answer.slug}</span>}
            </div>
            {answer === undefined ? null : <OutputView output={answer.output} />}
          </div>
        );
      })}
    </>
  );
}

function whoAnswered({ executed, slug }: Extract<Fact, { type: 'tool.answered' }>): string {
  if (executed) return 'answered by its tool';
  return slug === null ? 'answered without running a tool' : 'refused before any tool ran';
}
