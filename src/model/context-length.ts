import type { TooLong } from '../../machines/index.ts';

/** What providers say of a request that is too long for the model, as code or in words (P-1). */
const words: readonly RegExp[] = [
  // OpenAI, Azure, Groq, DeepSeek; llama.cpp.
  /context_length_exceeded|exceed_context_size/,
  // OpenAI, vLLM, OpenRouter, Mistral; xAI; vLLM.
  /maximum (?:context|prompt|input|model) length/,
  // OpenAI, Anthropic, Ollama, llama.cpp, LM Studio.
  /(?:exceed\w*|overflow\w*|reached|longer than)[^.]{0,60}context (?:window|limit|size|length)/,
  // Anthropic, Bedrock.
  /(?:prompt|input|request) is too (?:long|large)/,
  // Gemini.
  /input token count[^.]{0,40}exceed/,
  // Mistral, Cohere, Bedrock.
  /too large for model|too many (?:input )?tokens/,
  // Groq.
  /reduce the length of (?:the|your) (?:messages|prompt|input)/,
  // Anthropic's limit in bytes.
  /request_too_large/,
];

/** How many tokens the model takes at most. */
const limits: readonly RegExp[] = [
  /maximum (?:context|prompt|input|model) length (?:is|of) ([\d,]+)/,
  /with ([\d,]+) maximum (?:context|prompt|input|model) length/,
  /> ([\d,]+)(?: maximum)?/,
  /maximum number of (?:input )?tokens allowed \(([\d,]+)\)/,
  /context (?:window|limit|size|length)[^\d.]{0,12}([\d,]+)/,
  /"n_ctx" ?: ?(\d+)/,
];

/** How many tokens the request had. */
const asked: readonly RegExp[] = [
  /requested(?: about)? ([\d,]+)/,
  /request (?:contains |\()([\d,]+) tokens/,
  /too long: ([\d,]+) tokens/,
  /input token count \(([\d,]+)\)/,
  /prompt contains ([\d,]+) tokens/,
  /\(length ([\d,]+)\)/,
  /"n_prompt_tokens" ?: ?(\d+)/,
];

/** Returns what an error says of a request that was too long; null for any other error. `said` is in lower case. */
export function tooLong(said: string): TooLong | null {
  if (!words.some((pattern) => pattern.test(said))) return null;
  return { limit: numberIn(said, limits), asked: numberIn(said, asked) };
}

function numberIn(said: string, patterns: readonly RegExp[]): number | null {
  for (const pattern of patterns) {
    const number = Number(pattern.exec(said)?.[1]?.replaceAll(',', ''));
    // A smaller one is no size of a context window.
    if (number >= 256) return number;
  }
  return null;
}
