import { defineAgent } from 'pawl';
import { findBook } from './catalogue.js';

/** Sends at most maxTurns x maxRetries requests in a session, whatever the model does. */
export const definition = {
  name: 'librarian',
  instructions: 'You are a librarian. Look a book up before you talk about it.',
  models: ['openai:gpt-5-mini'],
  tools: { findBook },
  limits: { maxTurns: 6, maxRetries: 3 },
};

export default defineAgent(definition);
