import { span, tame } from '../../../../platform/text.ts';
import type { Row } from '../../../recorded/row-list.ts';
import { type Exchange, exchangeAt } from '../../../study/exchange.ts';
import { spentFor } from '../../../study/overview.ts';
import { Json } from '../../content/content.tsx';
import { Slugs } from '../../content/slugs.tsx';
import type { Store } from '../../store.ts';
import { dollars, short } from '../../text.ts';
import { AnswersPane, ReplyPane, RequestPane } from './exchange.tsx';
import { OutputView } from './parts.tsx';

/** An attempt as a whole, wherever in it the page stands: what was sent, what came, and what became of it. */
export function AttemptPane({
  store,
  streaming,
}: { store: Store } & Pick<Parameters<typeof ReplyPane>[0], 'streaming'>) {
  const { recorded, chosenRow } = store;
  const exchange = exchangeAt(recorded, store.placeOfAttempt);
  if (exchange === null) return <p class="empty">No request has been sent yet.</p>;
  const call = chosenRow?.kind === 'call' ? chosenRow : null;
  return (
    <>
      <Head exchange={exchange} />
      {call === null ? null : <CallPane call={call} exchange={exchange} />}
      <section aria-label="Reply">
        <ReplyPane exchange={exchange} streaming={streaming} />
      </section>
      {(exchange.replied?.calls.length ?? 0) === 0 ? null : (
        <section aria-label="Answers">
          <AnswersPane exchange={exchange} />
        </section>
      )}
      <section aria-label="Request">
        <RequestPane recorded={store.recorded} exchange={exchange} />
      </section>
    </>
  );
}

const words = {
  'attempt.failed': ['failed', 'failed'],
  'attempt.finished': ['succeeded', 'done'],
  'attempt.progressed': ['progressed: a tool ran', 'done'],
  'attempt.aborted': ['aborted', 'failed'],
} as const;

function Head({ exchange }: { exchange: Exchange }) {
  const { turn, attempt, target, ended, at, endedAt, replied } = exchange;
  const [word, state] = ended === null ? ['in flight', 'running'] : words[ended.type];
  const spent = spentFor(replied);
  return (
    <>
      <p class={`story ${state}`}>
        Turn {turn}, attempt {attempt} {word}
        {ended?.type === 'attempt.failed' ? `: ${ended.slugs.join(', ')}` : ''}
        {ended?.type === 'attempt.failed' && ended.detail !== null ? `, “${tame(ended.detail)}”` : ''}.
      </p>
      <p>
        {tame(target)}
        {spent === null
          ? ''
          : ` · ${short(spent.input)} tokens in, ${short(spent.output)} out · ${dollars(spent.costUsd)}`}
        {endedAt === null ? '' : ` · ${span(endedAt - at)}`}
      </p>
    </>
  );
}

/** One call: what it was given, and how it was answered. */
function CallPane({ call, exchange }: { call: Row; exchange: Exchange }) {
  const answer = exchange.answers.findLast(({ callId }) => callId === call.callId);
  const sent = exchange.replied?.reply?.content.find(
    (part) => part.type === 'tool-call' && part.callId === call.callId,
  );
  return (
    <section class="message tool" aria-label="Call">
      <div class="who">
        {tame(call.title)} {call.endedAt === null ? '' : `· ${span(call.endedAt - call.at)}`} <Slugs of={call.slugs} />
      </div>
      <div class="who">input</div>
      {sent?.type === 'tool-call' ? <Json value={sent.input} /> : <p class="empty">not in the reply itself</p>}
      <div class="who">answer</div>
      {answer === undefined ? (
        <p class="empty">{call.detail === '' ? 'No answer yet.' : tame(call.detail)}</p>
      ) : (
        <OutputView output={answer.output} />
      )}
    </section>
  );
}
