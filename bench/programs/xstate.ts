/**
 * The bare loop in XState's actors: `node xstate.js URL TURNS`. A session, its turns, attempts and tool calls are nested
 * machines as in Pawl, but they only invoke, assign and end: what Pawl's runtime costs without Pawl.
 */
import { assign, createActor, fromPromise, setup } from 'xstate';
import { z } from 'zod';
import { messagesOf, type Said, said, toolMessage } from '../floor.ts';
import { echo, inputSchema, model, turns } from './given.ts';
import { spent } from './spent.ts';

type Call = Said['calls'][number];

const messages = messagesOf('go');
const schema = z.toJSONSchema(inputSchema) as { type: 'object' };
const tools = [{ type: 'function' as const, name: 'echo', description: 'Echoes.', inputSchema: schema }];

const requestModel = fromPromise<Call[]>(async ({ signal }) => {
  const { calls, message } = await said(model, { prompt: messages, tools, abortSignal: signal });
  messages.push(message);
  return calls;
});

const runTool = fromPromise<unknown, Call>(async ({ input: { input } }) =>
  echo.execute?.(input as { text: string }, { toolCallId: '', messages: [], context: {} }),
);

const toolCall = setup({
  types: { input: {} as Call, context: {} as Call & { result: unknown }, output: {} as { result: unknown } },
  actors: { runTool },
}).createMachine({
  context: ({ input }) => ({ ...input, result: null }),
  initial: 'running',
  states: {
    running: {
      invoke: {
        src: 'runTool',
        input: ({ context }) => context,
        onDone: { target: 'answered', actions: assign({ result: ({ event }) => event.output }) },
      },
    },
    answered: { type: 'final' },
  },
  output: ({ context: { result } }) => ({ result }),
});

type Answered = { type: `xstate.done.actor.tool.${number}`; actorId: string; output: { result: unknown } };

const isLast = (calls: readonly Call[]) =>
  calls.length === 0 || calls.some(({ toolName }) => toolName === 'final_report');

const attempt = setup({
  types: {
    context: {} as { calls: Call[]; results: unknown[]; answered: number },
    events: {} as Answered,
    children: {} as { [tool: `tool.${number}`]: 'toolCall' },
    output: {} as { isLast: boolean },
  },
  actors: { requestModel, toolCall },
}).createMachine({
  context: { calls: [], results: [], answered: 0 },
  initial: 'requesting',
  states: {
    requesting: {
      invoke: {
        src: 'requestModel',
        onDone: [
          {
            guard: ({ event }) => isLast(event.output),
            target: 'finished',
            actions: assign({ calls: ({ event }) => event.output }),
          },
          { target: 'answering', actions: assign({ calls: ({ event }) => event.output }) },
        ],
      },
    },
    answering: {
      entry: assign(({ context, spawn }) => {
        for (const [index, call] of context.calls.entries()) spawn('toolCall', { id: `tool.${index}`, input: call });
        return { results: context.calls.map(() => null) };
      }),
      always: {
        guard: ({ context }) => context.answered === context.calls.length,
        target: 'succeeded',
        actions: ({ context: { calls, results } }) => messages.push(toolMessage(calls, results)),
      },
      on: {
        'xstate.done.actor.tool.*': {
          actions: assign(({ context: { results, answered }, event: { actorId, output } }) => ({
            results: results.with(Number(actorId.slice('tool.'.length)), output.result),
            answered: answered + 1,
          })),
        },
      },
    },
    succeeded: { type: 'final' },
    finished: { type: 'final' },
  },
  output: ({ context }) => ({ isLast: isLast(context.calls) }),
});

const turn = setup({
  types: { context: {} as { isLast: boolean }, output: {} as { isLast: boolean } },
  actors: { attempt },
}).createMachine({
  context: { isLast: false },
  initial: 'attempting',
  states: {
    attempting: {
      invoke: {
        src: 'attempt',
        onDone: { target: 'succeeded', actions: assign({ isLast: ({ event }) => event.output.isLast }) },
      },
    },
    succeeded: { type: 'final' },
  },
  output: ({ context }) => context,
});

const session = setup({
  types: { context: {} as { turn: number; isLast: boolean } },
  actors: { turn },
}).createMachine({
  context: { turn: 0, isLast: false },
  initial: 'advancing',
  states: {
    advancing: {
      always: [
        { guard: ({ context }) => context.isLast, target: 'succeeded' },
        { target: 'turning', actions: assign({ turn: ({ context }) => context.turn + 1 }) },
      ],
    },
    turning: {
      invoke: {
        src: 'turn',
        onDone: { target: 'advancing', actions: assign({ isLast: ({ event }) => event.output.isLast }) },
      },
    },
    succeeded: { type: 'final' },
  },
});

const actor = createActor(session);
const ended = new Promise<void>((complete) => actor.subscribe({ complete }));
actor.start();
await ended;
spent(actor.getSnapshot().context.turn, turns);
