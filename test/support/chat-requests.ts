import { type AgentDefinition, defineAgent } from '../../src/index.ts';
import { type RehearsalScript, rehearsalModel } from '../../src/testing/index.ts';
import { chatHandler } from '../../src/ui/chat/chat-handler.ts';
import type { ChatOptions } from '../../src/ui/chat/chat-options.ts';
import { guarded } from './tools.ts';

export const agentOf = (replies: RehearsalScript, over: Partial<AgentDefinition> = {}) =>
  defineAgent({ name: 'chatty', models: [rehearsalModel(replies)], ...over });

/** Replies of a model whose call needs approval. */
export const waiting = [{ calls: [{ name: 'guarded', input: { path: 'a' } }] }];

export const handlerOf = (replies: RehearsalScript, options: ChatOptions = {}, over: Partial<AgentDefinition> = {}) =>
  chatHandler(agentOf(replies, { tools: { guarded }, ...over }), { logger: false, ...options });

export const ask = (path: string, method = 'GET', body?: string) =>
  new Request(`http://x.test/api/chat${path}`, { method, ...(body !== undefined && { body }) });

export const said = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] };

export const post = (id: unknown = 'c1', messages: object[] = [said]) =>
  ask('', 'POST', JSON.stringify({ id, messages }));
