/** LangChain's agent, on LangGraph. `best`: a tool for the answer, and a loop until it was called, over a checkpointer. */
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { FileSaver } from './file-saver.js';
import { call, goOn, reportInput, rounds, say, sayReport, task } from './tools.js';

const isBest = task.settings === 'best';
// The id of a call stays the same if its step is run again.
const made = (name, input, id) => call(name, input, isBest ? id : undefined).catch((error) => error.message);
const tools = task.tools.map(({ name, description, inputSchema: schema }) =>
  tool((input, { toolCall }) => made(name, input, toolCall?.id), { name, description, schema }),
);
let report;
const final = tool((given) => (report = given).content, {
  ...{ name: 'final_report', description: 'Ends the task.', schema: reportInput, returnDirect: true },
});
const wire = { useResponsesApi: task.wire === 'openai-responses', configuration: { baseURL: task.baseUrl } };
const own = { model: new ChatOpenAI({ model: task.model, apiKey: 'none', ...wire }), systemPrompt: task.instructions };
const agent = isBest
  ? createAgent({ ...own, tools: [...tools, final], checkpointer: new FileSaver(`${task.state}/checkpoints.json`) })
  : createAgent({ ...own, tools });
const config = { recursionLimit: 2 * task.maxRequests, configurable: { thread_id: task.id }, durability: 'sync' };
const goesOn = isBest && (await agent.graph.getState(config)).next.length > 0;
let [content, why] = [task.prompt, 'it ended without a report'];
for (const at of isBest ? rounds : [1]) {
  try {
    const input = goesOn && at === 1 ? null : { messages: [{ role: 'user', content }] };
    const { messages } = await agent.invoke(input, isBest ? config : {});
    if (!isBest) say('done', messages.at(-1).content);
  } catch (error) {
    why = error.message;
    if (!isBest) say('failed', why);
  }
  if (report !== undefined) break;
  content = goOn;
}
if (isBest) sayReport(report, why);
