import {
  type CallFacts,
  callFacts,
  providerResults,
  type Reply,
  type ReplyCall,
  replyCalls,
} from '../../../machines/index.ts';
import { eventLoop } from '../../host/event-loop.ts';
import type { ModelEffectOptions } from '../model-effect.ts';

/** The most calls of a reply that are inspected, including those inside batches; the others are answered unseen. */
const mostInspected = 1_000;

/** Collects the facts about the calls of a reply, and about those inside its batches. */
export async function inspected(
  reply: Reply,
  catalog: ModelEffectOptions['catalog'],
  signal: AbortSignal,
): Promise<CallFacts[]> {
  const results = providerResults(reply);
  const sent = replyCalls(reply);
  const facts = await inSlices(sent, (call, position): CallFacts | Promise<CallFacts> => {
    if (call.providerExecuted) {
      const result = results.get(call.callId);
      if (result === undefined) return providedFacts(call, call.isAwaited === true ? 'missing' : null);
      return providedFacts(call, result.isError ? 'failure' : 'success');
    }
    return position < mostInspected ? catalog.inspect(call, null, signal) : uninspected(call);
  });
  const inside = facts.flatMap((call, within) =>
    catalog.inside(call, sent[within]?.input ?? '').map((inner) => ({ inner, within })),
  );
  const insideFacts = await inSlices(inside, ({ inner, within }, position) =>
    sent.length + position < mostInspected ? catalog.inspect(inner, within, signal) : { ...uninspected(inner), within },
  );
  return catalog.together([...facts, ...insideFacts]);
}

/** Runs `task` for all items at once, but lets others run in between. */
async function inSlices<Item, Result>(
  items: readonly Item[],
  task: (item: Item, position: number) => Result | Promise<Result>,
): Promise<Result[]> {
  const running: (Result | Promise<Result>)[] = [];
  for (const [position, item] of items.entries()) {
    running.push(task(item, position));
    if (eventLoop.isDue) await eventLoop.turn();
  }
  return Promise.all(running);
}

/** Returns the facts of a call beyond the most that are inspected in a reply. */
function uninspected({ callId, name }: ReplyCall): CallFacts {
  const reason = `A reply may hold at most ${mostInspected} calls; this one is beyond them.`;
  return { ...callFacts(callId, name, 'real'), wholeInput: true, refusal: { slug: 'tool_limit', reason } };
}

function providedFacts({ callId, name }: ReplyCall, provided: CallFacts['provided']): CallFacts {
  return { ...callFacts(callId, name, 'provider'), wholeInput: true, provided };
}
