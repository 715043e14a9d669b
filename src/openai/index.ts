export { type OpenaiHandler, type OpenaiOptions, openaiHandler } from './openai-handler.ts';
export { type ServedOpenai, type ServeOpenaiOptions, serveOpenai } from './serve-openai.ts';
