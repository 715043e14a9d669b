/** A bare loop over `doStream`, which promises nothing. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { z } from 'zod';
import { bareLoop } from '../floor.ts';
import { measure } from './measure.js';

const schema = z.toJSONSchema(z.object({ text: z.string() }));

await measure(async (url, id, onTool = () => {}) => {
  const model = createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })(id);
  const echo = ({ text }) => {
    onTool();
    return text;
  };
  const offered = [{ type: 'function', name: 'echo', description: 'Echoes.', inputSchema: schema }];
  return () => bareLoop(model, { echo }, offered, 'go');
});
