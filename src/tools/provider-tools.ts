import type { Json, ToolOutput } from '../../machines/index.ts';

type Args = Record<string, unknown>;

/** What Pawl must know about a tool that a provider defines, beyond what the AI SDK says about it. */
type ProviderTool = {
  /** Whether the provider runs it; for tools that can run in either place. */
  isRemote?: (args: Args) => boolean;
  /** Its input is a text instead of an object. */
  takesText?: true;
  /** Its result is an item of its own: builds one from a text, for a failure or a result that was cut. */
  resultItem?: (text: string, failed: boolean) => Json;
  /** Why an agent cannot have it, if it cannot. */
  refusal?: (args: Args) => string | null;
};

/** The provider-defined tools that need more than the AI SDK says of them, by id. */
const table: Record<string, ProviderTool> = {
  'openai.local_shell': { resultItem: (text) => ({ output: text }) },
  'openai.shell': {
    isRemote: ({ environment }) => /^container/.test(String(field(environment, 'type') ?? '')),
    resultItem: (text, failed) => ({
      output: [
        {
          stdout: failed ? '' : text,
          stderr: failed ? text : '',
          outcome: { type: 'exit', exitCode: failed ? 1 : 0 },
        },
      ],
    }),
  },
  'openai.apply_patch': {
    resultItem: (text, failed) => ({ status: failed ? 'failed' : 'completed', output: text }),
  },
  'openai.tool_search': {
    isRemote: ({ execution }) => execution !== 'client',
    resultItem: () => ({ tools: [] }),
  },
  'openai.custom': { takesText: true },
  'openai.computer': { refusal: () => 'its failures have no form that the API takes' },
  'openai.mcp': {
    refusal: ({ requireApproval }) =>
      requireApproval === undefined || requireApproval === 'never'
        ? null
        : "its approvals are the provider's; set `requireApproval: 'never'`, or connect the server by `mcpServers`",
  },
};

/** The names by which models call some of them, whatever they are named here: under another, no call would be known. */
const fixedNames: readonly [RegExp, string][] = [
  [/^anthropic\.bash_/, 'bash'],
  [/^anthropic\.memory_/, 'memory'],
  [/^anthropic\.computer_\d/, 'computer'],
  [/^anthropic\.text_editor_(?:20241022|20250124)$/, 'str_replace_editor'],
  [/^anthropic\.text_editor_/, 'str_replace_based_edit_tool'],
  [/^google\.code_execution$/, 'code_execution'],
];

/** Returns the only name that a provider's tool can have; null if it can have any. */
export function fixedName(id: string): string | null {
  return fixedNames.find(([pattern]) => pattern.test(id))?.[1] ?? null;
}

export function providerTool(id: string): ProviderTool {
  return table[id] ?? {};
}

/** Returns the output as the item that the tool's result must be, if it must be one, even if the call failed. */
export function asItem(output: ToolOutput, resultItem: ProviderTool['resultItem']): ToolOutput {
  if (resultItem === undefined) return output;
  switch (output.type) {
    case 'json':
      return output;
    case 'text':
      return { type: 'json', value: resultItem(output.value, false) };
    case 'error-text':
      return { type: 'json', value: resultItem(output.value, true) };
    case 'error-json':
      return { type: 'json', value: resultItem(JSON.stringify(output.value), true) };
    case 'execution-denied':
      return {
        type: 'json',
        value: resultItem(`Denied${output.reason === undefined ? '.' : `: ${output.reason}`}`, true),
      };
    case 'content': {
      const texts = output.value.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`));
      return { type: 'json', value: resultItem(texts.join('\n'), false) };
    }
    default:
      return output satisfies never;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
