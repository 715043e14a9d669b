import { defineAgent } from 'pawl';
import { findBook } from './catalogue.js';

/** Sends at most maxTurns x maxRetries requests in a session, whatever the model does. */
export const definition = {
  name: 'librarian',
  instructions: 'You are a librarian. Look books up before you speak of them.',
  models: ['openai:gpt-5-mini'],
  tools: { findBook },
  limits: { maxTurns: 6, maxRetries: 3 },
};

export default defineAgent(definition);
