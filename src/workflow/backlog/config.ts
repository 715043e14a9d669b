import { join } from 'node:path';
import { z } from 'zod';
import { check } from '../../agent/check.ts';
import { flag } from '../../agent/shapes.ts';
import { messageOf, PawlError } from '../../errors.ts';
import { readIfThere } from './files.ts';

export const configFile = '.agent-config.json';
const agentName = z.string().min(1).optional();
const share = 'a number from 0 to 1';

/** The settings of a backlog. Unknown fields are left unchanged. */
const schema = z.looseObject({
  /** Items at least this similar are reported as duplicates; default: 0.75. */
  duplicate_threshold: z.number({ error: share }).min(0, { error: share }).max(1, { error: share }).default(0.75),
  /** Whether a run commits the items that it creates and completes; default: false. */
  auto_commit: flag.default(false),
  /** The agents of `pawl work`: names to look up, or paths of agent files. */
  agents: z
    .strictObject({
      scan: agentName,
      process: agentName,
      test: agentName,
      retrospective: agentName,
      summary: agentName,
    })
    .default({}),
});
export type BacklogConfig = z.infer<typeof schema>;

/** Reads the `.agent-config.json` of a backlog. Throws `invalid_config`. */
export function readConfig(backlog: string): BacklogConfig {
  const text = readIfThere(join(backlog, configFile));
  if (text === null) return schema.parse({});
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PawlError('invalid_config', `${configFile} is not JSON: ${messageOf(error)}.`);
  }
  return check(schema, value, configFile, 'invalid_config');
}
