import { z } from 'zod';
import { check } from '../input/check.ts';
import { unexpected } from '../input/errors.ts';
import { builtInNames } from '../vocabulary/built-ins.ts';
import { type Limits, limitsSchema } from '../vocabulary/limits.ts';
import { overridesShape, type SessionOverrides } from '../vocabulary/overrides.ts';
import { checkSummaries } from './compaction.ts';
import type { Agent } from './definition.ts';

/** Returns the agent as a session has narrowed it. Throws `invalid_options` for anything that the agent does not allow. */
export function narrowed<Report, Context>(
  agent: Agent<Report, Context>,
  overrides: SessionOverrides | null,
): Agent<Report, Context> {
  if (overrides === null) return agent;
  const { instructions, limits, models, tools } = check(
    z.strictObject(overridesShape),
    overrides,
    '',
    'invalid_options',
  );
  const shown = tools === undefined ? null : new Set(tools);
  if (shown !== null) checkTools(agent, shown);
  const ownLimits = limits === undefined ? agent.limits : limitsWithin(agent.limits, limits);
  checkSummaries(agent.compaction, ownLimits);
  const { agents, mcpServers } = agent;
  const isShown = (name: string) => shown === null || shown.has(name);
  const isNeeded = (server: string) => [...(shown ?? [])].some((name) => name.startsWith(`${server}__`));
  return Object.freeze({
    ...agent,
    definition: Object.freeze({
      ...agent.definition,
      ...(instructions !== undefined && { instructions }),
    }),
    agents: only(agents, isShown),
    mcpServers: shown === null ? mcpServers : only(mcpServers, isNeeded),
    limits: ownLimits,
    targets: models === undefined ? agent.targets : models.map((name, index) => targetNamed(agent, name, index)),
    tools: new Map([...agent.tools].filter(([name]) => isShown(name) || builtInNames.includes(name))),
    shown,
  });
}

function only<T>(entries: Readonly<Record<string, T>>, isKept: (name: string) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => isKept(name)));
}

function checkTools({ tools, agents, mcpServers }: Agent, shown: ReadonlySet<string>): void {
  const own = [...tools.keys(), ...Object.keys(agents)].filter((name) => !builtInNames.includes(name));
  const servers = Object.keys(mcpServers);
  const unknown = [...shown].find(
    (name) => !own.includes(name) && !servers.some((server) => name.startsWith(`${server}__`)),
  );
  if (unknown === undefined) return;
  const known = [...own, ...servers.map((server) => `${server}__…`)].join(', ') || 'none';
  throw unexpected('invalid_options', 'tools', unknown, `names of the agent's tools (${known})`);
}

function targetNamed({ targets }: Agent, name: string, index: number): Agent['targets'][number] {
  const target = targets.find((one) => one.name === name);
  if (target !== undefined) return target;
  const known = targets.map((one) => one.name).join(', ');
  throw unexpected('invalid_options', `models[${index}]`, name, `one of the agent's models (${known})`);
}

function limitsWithin(own: Readonly<Limits>, given: unknown): Readonly<Limits> {
  const limits = check(limitsSchema, given, 'limits', 'invalid_limit');
  // Ignores undefined limits.
  const set = Object.entries(given as object).filter(([, value]) => value !== undefined);
  const named = set.map(([name]) => name as keyof Limits);
  for (const name of named) {
    const [most, value] = [own[name], limits[name]];
    if (most === null || (value !== null && value <= most)) continue;
    throw unexpected('invalid_options', `limits.${name}`, value, `at most the agent's, ${most}`);
  }
  return Object.freeze({ ...own, ...Object.fromEntries(named.map((name) => [name, limits[name]])) });
}
