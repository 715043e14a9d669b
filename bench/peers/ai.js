/** The AI SDK's own loop. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { hasToolCall, streamText, tool } from 'ai';
import { z } from 'zod';
import { measure } from './measure.js';

await measure(async (url, id, onTool = () => {}) => {
  const model = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })(id);
  const echo = tool({
    description: 'Echoes.',
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => {
      onTool();
      return text;
    },
  });
  const inputSchema = z.object({ content: z.string() });
  const final_report = tool({ description: 'Reports.', inputSchema, execute: ({ content }) => content });
  return async () => {
    const result = streamText({
      model,
      prompt: 'go',
      tools: { echo, final_report },
      stopWhen: hasToolCall('final_report'),
    });
    await result.consumeStream();
    return (await result.steps).length;
  };
});
