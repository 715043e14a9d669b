import { once } from 'node:events';
import { createServer } from 'node:http2';
import { createEndpointHandler } from '@restatedev/restate-sdk';
import type { Agent, SessionEvent, SessionResult } from '../../src/index.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { freePort } from './free-port.ts';
import { type Restate, restateBinary, startRestate } from './restate.ts';
import { keptLog } from './session.ts';

/** Serves agents to a Restate server of its own, in this process. `env` holds more settings of the server. */
export async function onRestate(agents: readonly Agent[], env: Record<string, string> = {}) {
  const events: SessionEvent[] = [];
  const { lines, logger } = keptLog();
  const server: Restate = await startRestate(restateBinary ?? '', env);
  const port = await freePort();
  const onEvent = (event: SessionEvent) => void events.push(event);
  const service = createServer(createEndpointHandler({ services: [restateAgents({ agents, logger, onEvent })] }));
  await once(service.listen(port, '127.0.0.1'), 'listening');
  await server.register(`http://127.0.0.1:${port}`);
  const ask = (path: string, body: object) =>
    fetch(`${server.ingress}/pawl/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const found = (id: string, type: SessionEvent['type']) =>
    events.find((event) => event.sessionId === id && event.type === type);
  return {
    stop: async () => {
      await server.stop();
      await new Promise((resolve) => service.close(resolve));
    },
    server,
    events,
    lines,
    ask,
    /** Runs a session to its end. */
    ran: async (id: string, agent: string, prompt: string, more: object = {}): Promise<SessionResult> => {
      const answer = await ask(`${encodeURIComponent(id)}/run`, { agent, prompt, ...more });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      return JSON.parse(text);
    },
    /** Waits for the first event of a type in a session. */
    told: async (id: string, type: SessionEvent['type']): Promise<SessionEvent> => {
      for (let event = found(id, type); ; event = found(id, type)) {
        if (event !== undefined) return event;
        await new Promise(setImmediate);
      }
    },
    /** Rows of Restate's own tables. */
    rows: async (query: string): Promise<Record<string, unknown>[]> => {
      const answer = await server.admin('POST', '/query', { query });
      return JSON.parse(await answer.text()).rows;
    },
  };
}

export type OnRestate = Awaited<ReturnType<typeof onRestate>>;
