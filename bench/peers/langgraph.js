/** LangGraph's ReAct agent, over `ChatOpenAI`. */
import { tool } from '@langchain/core/tools';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { measure } from './measure.js';

await measure(async (url, id, onTool = () => {}) => {
  const llm = new ChatOpenAI({ model: id, apiKey: 'none', configuration: { baseURL: url } });
  const echo = tool(
    ({ text }) => {
      onTool();
      return text;
    },
    { name: 'echo', description: 'Echoes.', schema: z.object({ text: z.string() }) },
  );
  const final_report = tool(({ content }) => content, {
    ...{ name: 'final_report', description: 'Reports.', schema: z.object({ content: z.string() }) },
    returnDirect: true,
  });
  const agent = createReactAgent({ llm, tools: [echo, final_report] });
  // Streamed as its users see it; with `streaming: true` the model would ask a server of others for a tokenizer.
  return async () => {
    const input = { messages: [{ role: 'user', content: 'go' }] };
    let taken = 0;
    const options = { recursionLimit: 100_000, streamMode: ['messages', 'updates'] };
    for await (const [mode, update] of await agent.stream(input, options))
      if (mode === 'updates' && 'agent' in update) taken += 1;
    return taken;
  };
});
