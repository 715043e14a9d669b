/** The field of a tool with credentials of its own. It is a symbol, so that a copy of the tool has it, too. */
const ofTool = Symbol('secrets');

/** Marks a tool as holding credentials, which are secrets of every session of its agent. */
export function withSecrets<Tool extends object>(tool: Tool, secrets: readonly string[]): Tool {
  return { ...tool, [ofTool]: () => secrets };
}

export function secretsOfTool(tool: object): readonly string[] {
  const marked: { [ofTool]?: () => readonly string[] } = tool;
  return marked[ofTool]?.() ?? [];
}
