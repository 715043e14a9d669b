export { type OpenaiHandler, type OpenaiOptions, openaiHandler } from './openai-handler.ts';
export { type ServeOpenaiOptions, serveOpenai } from './serve-openai.ts';
export type { ServedOpenai } from './served-openai.ts';
