import type { Message, ToolOutput } from '../../machines/index.ts';
import type { PromptSource } from '../../src/context/prompt-source.ts';
import { PromptBuilder, type PromptForms, type PromptRequest } from '../../src/model/prompt/prompt.ts';

export const forms: PromptForms = {
  takesText: () => true,
  stub: (callId) => `stub of ${callId}`,
  output: ({ output }) => output,
  file: (part) => part,
};

export const base: PromptRequest = { provider: 'one', notice: null, omit: [], promptCaching: 'off' };

export const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
export const call = (toolCallId: string, more: object = {}) =>
  ({ type: 'tool-call', toolCallId, toolName: 'look', input: {}, ...more }) as const;
export const result = (
  toolCallId: string,
  output: ToolOutput = { type: 'text', value: toolCallId },
  more: object = {},
) => ({ type: 'tool-result', toolCallId, toolName: 'look', output, ...more }) as const;
export const assistant = (content: object[], more: object = {}) => ({ role: 'assistant', content, ...more }) as Message;
export const tool = (...content: object[]) => ({ role: 'tool', content }) as Message;

export function builder(messages: Message[], more: Partial<PromptSource & PromptForms> = {}) {
  const source = {
    instructions: null,
    ownInstructions: null,
    messages,
    prompt: 0,
    revision: 0,
    answerTokens: new Map(),
    ...more,
  };
  return new PromptBuilder(source, { ...forms, ...more });
}
export const prompt = (messages: Message[], request: Partial<PromptRequest> = {}, more: Partial<PromptSource> = {}) =>
  builder(messages, more).build({ ...base, ...request }).prompt;
