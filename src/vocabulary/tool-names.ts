export const agentNameRule = '1 to 64 characters in one line, with no space at either end';

/** Matches the names of agents. Where a protocol makes tools of them, they have the name that `toolNameOf` returns. */
export const agentNamePattern = /^(?!__proto__$)(?=\S)[^\p{C}\p{Zl}\p{Zp}]{1,64}(?<=\S)$/u;

/** Returns an agent's name as the name of a tool: other characters than those of tools are each run one _. */
export function toolNameOf(agent: string): string {
  return agent.replaceAll(/[^A-Za-z0-9_-]+/g, '_');
}

export const nameRule = '1 to 64 characters from A-Z, a-z, 0-9, _ and -';

/** Matches the tool names that every provider accepts, except the one that no object can have as a field. */
export const toolNamePattern = /^(?!__proto__$)[A-Za-z0-9_-]{1,64}$/;
