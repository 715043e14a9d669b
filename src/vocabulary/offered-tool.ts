import type { LanguageModelV4FunctionTool, LanguageModelV4ProviderTool } from '@ai-sdk/provider';

export type OfferedTool = LanguageModelV4FunctionTool | LanguageModelV4ProviderTool;
