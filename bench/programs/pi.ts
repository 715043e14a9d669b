/** The loop of pi, if it is installed: `node pi.js URL TURNS`. Its package is no dependency, so it has no types here. */
import { spent } from './spent.ts';

const [url = '', turns = ''] = process.argv.slice(2);
const core = '@mariozechner/pi-agent-core';
const { Agent } = await import(core);
const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const model = {
  id: `bare-${turns}`,
  name: 'bench',
  api: 'openai-completions',
  provider: 'bench',
  baseUrl: url,
  reasoning: false,
  input: ['text'],
  cost: none,
  contextWindow: 1_000_000,
  maxTokens: 1_000,
};
const object = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] });
const said = (text: string, more = {}) => ({ content: [{ type: 'text', text }], details: {}, ...more });
const echo = {
  name: 'echo',
  label: 'echo',
  description: 'Echoes.',
  parameters: object('text'),
  execute: async (_: string, { text }: { text: string }) => said(text),
};
const report = {
  name: 'final_report',
  label: 'report',
  description: 'Reports.',
  parameters: object('content'),
  execute: async () => said('reported', { terminate: true }),
};
const agent = new Agent({ initialState: { systemPrompt: '', model, tools: [echo, report] }, getApiKey: () => 'none' });
let taken = 0;
agent.subscribe(({ type }: { type: string }) => {
  if (type === 'turn_end') taken += 1;
});
await agent.prompt('go');
spent(taken, Number(turns));
