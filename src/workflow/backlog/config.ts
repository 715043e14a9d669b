import { join } from 'node:path';
import { z } from 'zod';
import { expected, messageOf } from '../../input/errors.ts';
import { isRecord } from '../../platform/plain-json.ts';
import { readIfThere } from './files.ts';

export const configFile = '.agent-config.json';

const roles = ['scan', 'process', 'test', 'retrospective', 'summary'] as const;

/** The settings of a backlog. */
export type BacklogConfig = {
  /** Items at least this similar are reported as duplicates, from 0 to 1; default: 0.75. */
  duplicate_threshold: number;
  /** Whether a run commits the items that it creates and completes; default: false. */
  auto_commit: boolean;
  /** The agents of `pawl work`: names to look up, or paths of agent files. */
  agents: Partial<Record<(typeof roles)[number], string>>;
  /** The commands that agents may run without approval, such as `npm test`. Default: none. */
  allow: string[];
  /** Model aliases of agent files, such as `sonnet`. */
  models: Record<string, string>;
  /** What in the file could not be read, so that its default holds. */
  problems: string[];
};

const share = z.number().min(0).max(1);
const name = z.string().min(1);

/** The fields, by all the names that they have; others are left alone. */
const fields = {
  duplicate_threshold: {
    names: ['duplicate_threshold', 'duplicate_similarity_threshold'],
    shape: share,
    is: 'a number from 0 to 1',
  },
  auto_commit: { names: ['auto_commit'], shape: z.boolean(), is: 'true or false' },
  allow: { names: ['allow'], shape: z.array(name), is: 'an array of commands' },
  models: { names: ['models'], shape: z.record(z.string(), name), is: 'an object of models by alias' },
} as const;

/**
 * Reads the `.agent-config.json` of a backlog, which other tools write too. What cannot be read in it is a problem, and its
 * default holds.
 */
export function readConfig(backlog: string): BacklogConfig {
  const config: BacklogConfig = {
    duplicate_threshold: 0.75,
    auto_commit: false,
    agents: {},
    allow: [],
    models: {},
    problems: [],
  };
  const found = fileIn(backlog, config.problems);
  const wrong = (field: string, value: unknown, is: string) => {
    config.problems.push(`${configFile}: ${expected(field, value, is)} The default holds.`);
  };
  for (const [field, { names, shape, is }] of Object.entries(fields)) {
    const given = names.find((one) => found[one] !== undefined);
    if (given === undefined) continue;
    const value = shape.safeParse(found[given]);
    if (value.success) Object.assign(config, { [field]: value.data });
    else wrong(given, found[given], is);
  }
  const { agents = {} } = found;
  if (!isRecord(agents)) {
    wrong('agents', agents, 'an object of agent names by role');
    return config;
  }
  for (const [role, agent] of Object.entries(agents)) {
    const known = roles.find((one) => one === role);
    if (known === undefined) wrong(`agents.${role}`, agent, `a role: ${roles.join(', ')}`);
    else if (name.safeParse(agent).success) config.agents[known] = String(agent);
    else wrong(`agents.${role}`, agent, 'the name or the path of an agent file');
  }
  return config;
}

function fileIn(backlog: string, problems: string[]): Record<string, unknown> {
  let text: string | null;
  try {
    text = readIfThere(join(backlog, configFile));
  } catch (error) {
    problems.push(`${configFile} cannot be read: ${messageOf(error)}. The defaults hold.`);
    return {};
  }
  try {
    const value: unknown = text === null ? {} : JSON.parse(text);
    if (isRecord(value)) return { ...value };
    problems.push(`${configFile}: ${expected('the file', value, 'a JSON object')} The defaults hold.`);
  } catch (error) {
    problems.push(`${configFile} is not JSON: ${messageOf(error).replaceAll(/\s+/g, ' ')}. The defaults hold.`);
  }
  return {};
}
