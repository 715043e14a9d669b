/** A conversation: each message is a session that continues the one before. */
import { defineAgent, runSession } from 'pawl';
import { model } from './model.ts';

const agent = defineAgent({
  name: 'companion',
  instructions: 'You talk with a friend, in one sentence at a time.',
  models: [model({ text: 'Hello, Ada.' }, { text: 'You are Ada.' })],
  finish: 'text',
});

let messages = (await runSession(agent, { prompt: 'Hi, I am Ada.' })).conversation;
const { report, conversation } = await runSession(agent, { messages, prompt: 'Who am I?' });
messages = conversation;
console.log(report.content, messages.length);
// You are Ada. 4
