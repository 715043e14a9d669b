import OpenAI from 'openai';
import { type Agent, defineAgent, type SessionEvent } from '../../src/index.ts';
import { type ServeOpenaiOptions, serveOpenai } from '../../src/openai/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { search } from './tools.ts';

type Replies = Extract<Parameters<typeof rehearsalModel>[0], readonly unknown[]>;

/** An agent that finishes by text. */
export const texter = (replies: Replies, over = {}) =>
  defineAgent({ name: 'texter', models: [rehearsalModel(replies)], tools: { search }, finish: 'text', ...over });

/** Serves agents, with the official client for them and the events of their sessions. */
export async function served(agents: Agent[], options: ServeOpenaiOptions = {}) {
  const events: SessionEvent[] = [];
  const server = await serveOpenai(agents, { logger: false, onEvent: (event) => void events.push(event), ...options });
  const client = new OpenAI({ baseURL: server.url, apiKey: 'none-needed', maxRetries: 0 });
  return { ...server, client, events };
}

export const ask = { messages: [{ role: 'user' as const, content: 'Hi.' }] };
