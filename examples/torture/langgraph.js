/** LangGraph's ReAct agent, over `ChatOpenAI`. `best`: it returns at a tool for the answer, which it must call. */
import { tool } from '@langchain/core/tools';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { call, say, task } from './tools.js';

const isBest = task.settings === 'best';
const content = { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] };
const tools = task.tools.map(({ name, description, inputSchema }) =>
  tool((input) => call(name, input), { name, description, schema: inputSchema }),
);
const report = tool((given) => given.content, {
  ...{ name: 'final_report', description: 'Ends the task.', schema: content },
  returnDirect: true,
});
const model = new ChatOpenAI({ model: task.model, apiKey: 'none', configuration: { baseURL: task.baseUrl } });
const all = [...tools, report];
const agent = isBest
  ? createReactAgent({ llm: model.bindTools(all, { tool_choice: 'required' }), tools: all, prompt: task.instructions })
  : createReactAgent({ llm: model, tools, prompt: task.instructions });
try {
  const limit = isBest ? { recursionLimit: 2 * task.maxRequests } : {};
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: task.prompt }] }, limit);
  const last = messages.at(-1);
  if (isBest && last.name !== 'final_report') say('failed', 'it ended without a report');
  else say('done', last.content);
} catch (error) {
  say('failed', error.message);
}
