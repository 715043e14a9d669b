/** OpenAI's Agents SDK, over chat completions. */
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { measure } from './measure.js';

setTracingDisabled(true);
await measure(async (url, id, onTool = () => {}) => {
  const echo = tool({
    name: 'echo',
    description: 'Echoes.',
    parameters: z.object({ text: z.string() }),
    execute: ({ text }) => {
      onTool();
      return text;
    },
  });
  const final_report = tool({
    name: 'final_report',
    description: 'Reports.',
    parameters: z.object({ content: z.string() }),
    execute: ({ content }) => content,
  });
  const client = new OpenAI({ baseURL: url, apiKey: 'none' });
  const agent = new Agent({
    name: 'bench',
    model: new OpenAIChatCompletionsModel(client, id),
    tools: [echo, final_report],
    toolUseBehavior: { stopAtToolNames: ['final_report'] },
  });
  return async () => {
    const result = await run(agent, 'go', { stream: true, maxTurns: 10_000 });
    for await (const _ of result);
    await result.completed;
    return result.rawResponses.length;
  };
});
