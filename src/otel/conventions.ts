import type { Attributes } from '@opentelemetry/api';
import type { Usage } from '../../machines/index.ts';

/**
 * The names of OpenTelemetry's semantic conventions for generative AI that Pawl uses; a test holds them against the
 * conventions' own package. Those that begin with `pawl.` have no counterpart there.
 */
export const attributes = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentName: 'gen_ai.agent.name',
  conversationId: 'gen_ai.conversation.id',
  requestModel: 'gen_ai.request.model',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  tokenType: 'gen_ai.token.type',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  instructions: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  errorType: 'error.type',
} as const;

export const operations = {
  run: 'invoke_workflow',
  session: 'invoke_agent',
  plan: 'plan',
  attempt: 'chat',
  tool: 'execute_tool',
} as const;

export const metrics = {
  operationDuration: 'gen_ai.client.operation.duration',
  tokenUsage: 'gen_ai.client.token.usage',
  timeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  timePerChunk: 'gen_ai.client.operation.time_per_output_chunk',
} as const;

/**
 * Those that the newest conventions have for agents and tools alone, and that their package does not name yet. That of
 * workflows became one with that of agents in their version 0.1.
 */
export const durations: Readonly<Record<string, string>> = {
  [operations.run]: 'gen_ai.invoke_agent.duration',
  [operations.session]: 'gen_ai.invoke_agent.duration',
  [operations.tool]: 'gen_ai.execute_tool.duration',
};

/** Providers that the conventions name otherwise than the AI SDK does. */
const providers: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  'google-vertex': 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
};

/** Splits a target's name, `provider:model`, into the conventions' two. */
export function providerAndModel(target: string): { provider: string; model: string } {
  const colon = target.indexOf(':');
  const provider = target.slice(0, Math.max(0, colon));
  return { provider: providers[provider] ?? provider, model: target.slice(colon + 1) };
}

/** The model of a request to a target, and the attributes of its span and its metrics. */
export function requestOf(target: string): { model: string; measured: Attributes } {
  const { provider, model } = providerAndModel(target);
  const operation = { [attributes.operation]: operations.attempt };
  return { model, measured: { ...operation, [attributes.provider]: provider, [attributes.requestModel]: model } };
}

export function usageAttributes({ input, output, reasoning, cacheRead, cacheWrite }: Usage): Attributes {
  return {
    [attributes.inputTokens]: input,
    [attributes.outputTokens]: output,
    ...(reasoning > 0 && { [attributes.reasoningTokens]: reasoning }),
    ...(cacheRead > 0 && { [attributes.cacheReadTokens]: cacheRead }),
    ...(cacheWrite > 0 && { [attributes.cacheWriteTokens]: cacheWrite }),
  };
}
