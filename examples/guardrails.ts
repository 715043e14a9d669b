/** What goes in and what comes out is checked; a check that fails lets nothing pass. */
import { allow, defineAgent, deny, replace, runSession } from 'pawl';
import { model, report } from './model.ts';

const card = /\b\d{16}\b/g;
const agent = defineAgent({
  name: 'clerk',
  models: [model(report('You will certainly win.'), report('Your claim is noted.'))],
  checkInput: ({ messages }) => replace(JSON.parse(JSON.stringify(messages).replace(card, '[card]'))),
  checkReply: ({ text }) => (text.includes('[card]') ? deny('Do not speak of cards.') : allow),
  checkReport: ({ content }) => (/certainly/.test(String(content)) ? deny('Promise nothing.') : allow),
});

const {
  report: said,
  conversation,
  counters,
} = await runSession(agent, {
  prompt: 'Charge 4111111111111111, I claim.',
  logger: false,
});
console.log(said.content, JSON.stringify(conversation).includes('4111'), counters.slugs);
// Your claim is noted. false { report_denied: 1 }
