import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineAgent, PawlError, type Session, type SessionEvent, slice, startSession } from '../../src/index.ts';
import { EventStream } from '../../src/observe/stream/event-stream.ts';
import { type RehearsalScript, rehearsalModel } from '../../src/testing/index.ts';
import { delta as deltaOf } from '../support/observer.ts';
import { counters, report, reportedAtOnce, run, runOverWire } from '../support/session.ts';
import { speaking } from '../support/speaking.ts';
import { search, searchCall } from '../support/tools.ts';

const session = (script: RehearsalScript) =>
  startSession(
    defineAgent({ name: 'told', models: [rehearsalModel(script)], tools: { search }, limits: { maxTurns: 200 } }),
    { prompt: 'p', logger: false },
  );

async function all(events: AsyncIterable<SessionEvent>): Promise<SessionEvent[]> {
  const found: SessionEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** The texts of all parts, by attempt and part, and the other events in order. */
function told(events: readonly SessionEvent[]): { texts: Record<string, string>; others: string[] } {
  const texts: Record<string, string> = {};
  const others: string[] = [];
  for (const event of events) {
    if (event.type === 'model.delta') {
      const name = `${event.path.join('/')} ${event.turn}.${event.attempt}.${event.part} ${event.kind}`;
      texts[name] = (texts[name] ?? '') + event.delta;
    } else {
      others.push(`${event.seq} ${event.type}`);
    }
  }
  return { texts, others };
}

describe('S-6: the event stream', () => {
  it('a reader that leaves releases all that waits for it', async () => {
    const reader = new EventStream().from(1)[Symbol.asyncIterator]();
    const waiting = [reader.next(), reader.next(), reader.next()];
    await reader.return?.();
    expect(await Promise.all(waiting)).toEqual(Array(3).fill({ done: true, value: undefined }));
  });

  const long = Array.from({ length: 4_000 }, (_, index) => `word${index} `).join('');

  it('loses nothing, however slow its reader: it gets what a listener got', async () => {
    const slow: SessionEvent[] = [];
    const readers: Promise<SessionEvent[]>[] = [];
    const read = async ({ events }: Session) => {
      for await (const event of events) {
        slow.push(event);
        await new Promise(setImmediate);
      }
      return all(events);
    };
    const { events: heard } = await runOverWire({
      script: [{ text: long, ...searchCall, pieceLength: 9 }, { text: 'no call' }, report()],
      definition: { tools: { search } },
      during: (event, running) => {
        if (event.type === 'session.prepared') readers.push(read(running));
      },
    });
    // A reader that comes when all is over gets the deltas joined.
    const late = (await readers[0]) ?? [];
    heard.unshift(...slow.filter(({ seq }) => seq < (heard[0]?.seq ?? 0)));
    expect(told(slow)).toEqual(told(heard));
    expect(told(slow).texts[' 1.1.0 text']).toBe(long);
    expect(slow.at(-1)?.type).toBe('session.succeeded');
    expect(told(late)).toEqual(told(heard));
    expect(heard.length).toBeGreaterThan(3_000);
    expect(late.length).toBeLessThan(50);
  });

  it('every reader begins at the first event, and 200 turns are all there', async () => {
    const running = session(({ index }) => (index < 199 ? searchCall : report()));
    await running.result;
    const [one, other] = [await all(running.events), await all(running.events)];
    expect(other).toEqual(one);
    expect(one[0]).toMatchObject({ type: 'session.started', seq: 1 });
    expect(one.filter(({ type }) => type === 'turn.started')).toHaveLength(200);
  });

  it('a page that knows `seq` goes on with the next one, in the middle of a text too', async () => {
    const running = session([{ text: long }, { ...searchCall, reasoning: 'hm' }, report()]);
    await running.result;
    const whole = told(await all(running.events));
    const end = Number(whole.others.at(-1)?.split(' ')[0]);
    for (const seq of [1, 2, 17, 1_000, 20_000, end - 1, end]) {
      const first: SessionEvent[] = [];
      for await (const event of running.events) {
        if (event.seq >= seq) {
          const left = event.type === 'model.delta' ? event.delta.length - (event.seq - seq) - 1 : 0;
          if (event.type === 'model.delta') first.push({ ...event, delta: event.delta.slice(0, left) });
          break;
        }
        first.push(event);
      }
      expect(told([...first, ...(await all(running.eventsFrom(seq)))])).toEqual(whole);
    }
    expect(await all(running.eventsFrom(end + 1))).toEqual([]);
    for (const seq of [0, 1.5, '3']) expect(() => running.eventsFrom(seq as number)).toThrow(PawlError);
  });

  it('a reader that reconnects in the middle of a text gets the rest of it, as it comes', async () => {
    const said = Promise.withResolvers<void>();
    const agent = defineAgent({ name: 'told', models: [speaking(['Hello, ', 'dear ', 'world.'], said.promise)] });
    const running = startSession(agent, { prompt: 'p', logger: false });
    let known = 0;
    for await (const event of running.events) {
      known = event.seq;
      if (event.type === 'model.delta') break;
    }
    const reader = running.eventsFrom(known + 1)[Symbol.asyncIterator]();
    const first = reader.next();
    said.resolve();
    const rest: SessionEvent[] = [];
    for (let next = await first; !next.done; next = await reader.next()) rest.push(next.value);
    expect(told(rest).texts[' 1.1.0 text']).toBe('dear world.');
    const { counters: counted } = await running.result;
    expect(counted).toEqual(counters({ ...reportedAtOnce, tokens: counted.tokens }));
  });

  it('nothing overtakes what a listener brings about, not even the text of another sub-agent that was held back', async () => {
    const said = Promise.withResolvers<void>();
    const helper = (name: string, texts: string[], gate: Promise<void>) =>
      defineAgent({ name, description: name, models: [speaking(texts, gate)], secrets: ['orchid.summit.42'] });
    const calls = ['speaker', 'listener'].map((name) => ({ name, input: { prompt: 'Look.', reason: 'It can.' } }));
    const agent = defineAgent({
      name: 'told',
      models: [rehearsalModel([{ calls }])],
      agents: {
        speaker: helper('speaker', ['I say orchid'], new Promise(() => {})),
        listener: helper('listener', [''], said.promise),
      },
    });
    const late: Promise<SessionEvent[]>[] = [];
    const { result, events } = await run({
      agent,
      during: (event, running) => {
        if (event.type === 'session.aborted') late.push(running.result.then(() => all(running.events)));
        if (event.type === 'model.delta' && event.agent === 'speaker') said.resolve();
        if (event.type === 'attempt.replied' && event.agent === 'listener') running.abort();
      },
    });
    expect(result.status).toBe('aborted');
    // Those of the sub-agents are not what this is about.
    const { tokens, subAgents, lateResults, tree } = result.counters;
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 1,
        toolCalls: { requested: 2, answered: 2, rejected: { aborted: 2 } },
        slugs: { aborted: 1 },
        tokens,
        costUsd: null,
        subAgents,
        lateResults,
        tree,
      }),
    );
    const seqs = events.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.toSorted((one, other) => one - other));
    const read = told((await late.at(-1)) ?? []);
    expect(read).toEqual(told(events));
    expect(read.texts['speaker 1.1.0 text']).toBe('I say orchid');
    expect(read.others.filter((other) => / session\.aborting$/.test(other))).toHaveLength(2);
  });

  it('a reader that leaves while it waits is free at once', async () => {
    const running = session([{ hangs: true }]);
    const reader = running.events[Symbol.asyncIterator]();
    let last = await reader.next();
    while (!last.done && last.value.type !== 'attempt.started') last = await reader.next();
    const waiting = reader.next();
    await reader.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await reader.next()).toEqual({ done: true, value: undefined });
    running.abort('enough');
    await running.result;
  });

  it('a delta names its attempt and part, and the call whose input it is, by its id in the conversation', async () => {
    const { events } = await runOverWire({
      script: [
        {
          text: 'Now.',
          reasoning: 'Hm.',
          calls: [
            { name: 'search', input: { q: 'a' }, id: 'same' },
            { name: 'search', input: { q: 'b' }, id: 'same' },
            { name: 'search', input: { q: 'c' }, id: 'not:valid' },
          ],
        },
        report(),
      ],
      definition: { tools: { search } },
    });
    const { texts } = told(events);
    expect(texts).toMatchObject({ ' 1.1.0 reasoning': 'Hm.', ' 1.1.1 text': 'Now.' });
    const inputs = new Map<string, string>();
    for (const event of events) {
      if (event.type !== 'model.delta' || event.kind !== 'tool-input' || event.turn !== 1) continue;
      inputs.set(event.callId ?? '', (inputs.get(event.callId ?? '') ?? '') + event.delta);
    }
    const requested = events.flatMap((event) =>
      event.type === 'tool.requested' && event.turn === 1 ? [[event.callId, JSON.stringify(event.input)]] : [],
    );
    expect([...inputs]).toEqual(requested);
    expect(inputs.size).toBe(3);
  });

  it('a failed attempt takes its deltas back: it says how many parts had begun', async () => {
    const { events } = await runOverWire({
      script: [{ text: 'one', reasoning: 'two' }, {}, { status: 500 }, report()],
      definition: { limits: { maxRetries: 4 } },
    });
    expect(events.flatMap((event) => (event.type === 'attempt.failed' ? [event.partsTakenBack] : []))).toEqual([
      2, 0, 0,
    ]);
  });

  it('keeps its order when an observer fails during an event, and reports the failure after it', async () => {
    const { events } = await runOverWire({
      script: [searchCall, report()],
      definition: {
        tools: { search },
        slices: {
          broken: slice(0, (count, event) => {
            if (event.type === 'tool.answered') throw new Error('no');
            return count;
          }),
        },
      },
    });
    const seqs = events.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.toSorted((one, other) => one - other));
    const types = events.map(({ type }) => type);
    expect(types.slice(types.indexOf('tool.answered')).slice(0, 2)).toEqual(['tool.answered', 'observer.failed']);
  });

  it('joins what it keeps, but never two parts, calls or sessions', async () => {
    const envelope = { sessionId: 's', agent: 'a', at: 0, path: [] };
    const piece = fc.record({
      part: fc.nat(2),
      path: fc.constantFrom([], ['child']),
      delta: fc.string({ minLength: 1, maxLength: 9 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 60 }), fc.nat(200), async (pieces, from) => {
        const stream = new EventStream();
        let seq = 0;
        const events = pieces.map(({ part, path, delta }): SessionEvent => {
          seq += delta.length;
          const own = { ...envelope, sessionId: path.length === 0 ? 's' : 's/child', path, seq };
          return { ...deltaOf(delta, part), ...own };
        });
        for (const event of events) stream.event(event);
        stream.end();
        const text = (some: readonly SessionEvent[]) =>
          some.map((event) => (event.type === 'model.delta' ? event.delta : '')).join('');
        expect(text(await all(stream.from(from + 1)))).toBe(text(events).slice(from));
        expect(told(await all(stream.from(1)))).toEqual(told(events));
      }),
    );
  });
});
