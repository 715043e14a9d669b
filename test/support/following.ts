import { defineAgent, type McpServerDefinition } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

/** An agent that gives its task to the postman of a server, and reports what it says. */
export const following = (url: string, more: Partial<McpServerDefinition> = {}, prompt = 'Send it.') =>
  defineAgent({
    name: 'sender',
    models: [
      rehearsalModel(({ prompt: messages }) => {
        const last = messages.findLast(({ role }) => role === 'tool');
        if (last === undefined) return { calls: [{ name: 'post__postman', input: { prompt } }] };
        return { text: JSON.stringify(last.content) };
      }),
    ],
    mcpServers: { post: { url, ...more } as McpServerDefinition },
    finish: 'text',
  });
