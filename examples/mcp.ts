/** Tools of an MCP server, which the session starts and stops. */
import { createRequire } from 'node:module';
import { defineAgent, runSession } from 'pawl';
import { call, model, report } from './model.ts';

const program = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
const agent = defineAgent({
  name: 'caller',
  models: [model(call('everything__echo', { message: 'hello' }), report('It said hello.'))],
  mcpServers: { everything: { command: process.execPath, args: [program], allow: ['echo'] } },
});

const { report: said, turns } = await runSession(agent, { prompt: 'Let the server say hello.' });
console.log(said.content, turns[0]?.attempts[0]?.calls[0]?.output);
// It said hello. { type: 'text', value: 'Echo: hello' }
