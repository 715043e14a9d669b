import { tool } from 'ai';
import { z } from 'zod';
import type { AgentDefinition } from '../../src/index.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { report } from './session.ts';
import type { Release } from './two-releases.ts';

const inputSchema = z.object({});

/** Turn by turn: an empty reply, an unknown tool, two calls at once (one waits for a person), a sub-agent, the report. */
export function lastingAgent({ defineAgent }: Pick<Release, 'defineAgent'>, over: Partial<AgentDefinition> = {}) {
  const done: string[] = [];
  const works = (name: string) => tool({ inputSchema, execute: () => void done.push(name) });
  const replies: RehearsedReply[] = [
    {},
    { calls: [{ name: 'nothing', input: {} }] },
    {
      calls: [
        { name: 'one', input: {} },
        { name: 'asked', input: {} },
      ],
    },
    { calls: [{ name: 'help', input: { prompt: 'Help.', reason: 'It is much.' } }] },
    report(),
  ];
  // From the prompt alone, so that it continues correctly in another process.
  const model = rehearsalModel(({ prompt }) => {
    const text = JSON.stringify(prompt);
    const at = text.includes('"toolName":"help"')
      ? 4
      : text.includes('"toolName":"asked"')
        ? 3
        : text.includes('"toolName":"nothing"')
          ? 2
          : text.includes('notice')
            ? 1
            : 0;
    return replies[at] ?? {};
  });
  const helper = defineAgent({ name: 'helping', models: [rehearsalModel(() => report('helped'))] });
  const agent = defineAgent({
    name: 'lasting',
    instructions: 'Do it.',
    models: [model],
    tools: { one: works('one'), asked: { ...works('asked'), needsApproval: true } },
    agents: { help: helper },
    ...over,
  });
  return { agent, done, model };
}
