/** LangChain's agent, on LangGraph. `best`: a tool for the answer, and a loop until it was called, over a checkpointer. */
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { call, goOn, reportInput, rounds, say, sayReport, task } from './tools.js';

const isBest = task.settings === 'best';
const tools = task.tools.map(({ name, description, inputSchema: schema }) =>
  tool((input) => call(name, input).catch((error) => error.message), { name, description, schema }),
);
let report;
const final = tool((given) => (report = given).content, {
  ...{ name: 'final_report', description: 'Ends the task.', schema: reportInput },
  returnDirect: true,
});
const model = new ChatOpenAI({ model: task.model, apiKey: 'none', configuration: { baseURL: task.baseUrl } });
const own = { model, systemPrompt: task.instructions };
const agent = isBest
  ? createAgent({ ...own, tools: [...tools, final], checkpointer: new MemorySaver() })
  : createAgent({ ...own, tools });
const limits = isBest ? { recursionLimit: 2 * task.maxRequests, configurable: { thread_id: task.id } } : {};
let [content, why] = [task.prompt, 'it ended without a report'];
for (const _ of isBest ? rounds : [1]) {
  try {
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content }] }, limits);
    if (!isBest) say('done', messages.at(-1).content);
  } catch (error) {
    why = error.message;
    if (!isBest) say('failed', why);
  }
  if (report !== undefined) break;
  content = goOn;
}
if (isBest) sayReport(report, why);
