import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { PawlError } from '../../input/errors.ts';
import type { BacklogConfig } from '../../workflow/backlog/config.ts';
import type { NamedAgent } from '../../workflow/run/agents.ts';
import type { WorkflowAgents } from '../../workflow/run/parts.ts';
import type { Place } from '../../workflow/run/places/places.ts';
import { globOf } from '../../workspace/globs.ts';
import { agentSource } from '../agent-file.ts';
import { type Flags, UsageError } from '../command-line.ts';
import { agentOf } from '../run.ts';

/** A backlog, and the root of the project that contains it. */
export type Project = { backlog: string; root: string };

type Role = keyof BacklogConfig['agents'];

/** `fixedFile`: the file, if the agent's tools are the same for every work tree. */
type ProjectAgent = NamedAgent & {
  lookedFor: string[];
  fixedFile: () => Promise<string | null>;
  /** Throws if its definition is wrong. One that is not there may come before it is needed. */
  check: () => Promise<void>;
};

/** The agents of a project, by their roles. */
export type ProjectAgents = { [Name in keyof WorkflowAgents]: ProjectAgent } & { process: ProjectAgent };

/** Returns the agents that the configuration names or the agent folders contain. `process` is always included. */
export function agentsOf(project: Project, config: BacklogConfig, flags: Flags): ProjectAgents {
  const noted = new Set<string>();
  const note = (text: string) => {
    if (!noted.has(text)) process.stderr.write(`pawl: ${text}\n`);
    noted.add(text);
  };
  const asked = (role: Role) => named(project, config.agents[role] ?? role, config, flags, note);
  const present = (role: Role) => config.agents[role] !== undefined || found(project, role) !== null;
  return {
    process: asked('process'),
    ...(present('scan') && { scan: asked('scan') }),
    ...(present('test') && { test: asked('test') }),
    ...(present('retrospective') && { retrospective: asked('retrospective') }),
    ...(present('summary') && { summary: asked('summary') }),
  };
}

function named(
  project: Project,
  name: string,
  config: BacklogConfig,
  flags: Flags,
  note: (text: string) => void,
): ProjectAgent {
  const { root } = project;
  const lookedFor = places(project, name);
  const except = protectedIn(project, config);
  const source = async () => {
    const file = found(project, name);
    if (file === null) throw new Error(`no agent file named ${name}; looked in: ${lookedFor.join(', ')}`);
    return { file, ...(await agentSource(file)) };
  };
  // Read before the run starts, so that no agent can replace another. A failed read is repeated on the next try.
  let ready = flags.dryRun ? null : source();
  ready?.catch(() => {});
  const load = async (place: Place) => {
    ready ??= source();
    const { file, definition } = await ready.catch((error) => {
      ready = null;
      throw error;
    });
    const settings = { root: place.root, project: root, commands: config.allow, except, models: config.models, note };
    return agentOf(await definition(settings), flags, file);
  };
  return {
    name,
    lookedFor,
    load,
    check: async () => {
      await load(project).catch((error) => {
        if (error instanceof PawlError || error instanceof UsageError) throw error;
      });
    },
    fixedFile: async () => {
      const read = await ready?.catch(() => null);
      return read?.isFixed ? read.file : null;
    },
  };
}

/** Returns patterns, relative to the root, of the files that define agents or control the run. */
function protectedIn(project: Project, { agents }: BacklogConfig): string[] {
  const { backlog, root } = project;
  const below = (path: string) => globOf(relative(realpathSync(root), path).split(sep).join('/'));
  const own = ['agents/**', 'agent_runs/**', '.agent-state.json*'].map((name) =>
    below(join(realpathSync(backlog), name)),
  );
  const files = Object.values(agents).flatMap((name) => {
    const file = found(project, name);
    return file === null ? [] : [below(realpathSync(file))];
  });
  return [...own, ...files];
}

const extensions = ['.md', '.ts', '.mts', '.js', '.mjs'];

function isPath(name: string): boolean {
  return extensions.some((extension) => name.endsWith(extension));
}

/** Returns the places in the project. A file in the home directory is used only if the configuration names it. */
function places({ backlog, root }: Project, name: string): string[] {
  if (isPath(name)) {
    const path = name.replace(/^~(?=\/)/, homedir());
    return [isAbsolute(path) ? path : resolve(backlog, path)];
  }
  return [...new Set([join(backlog, 'agents'), join(backlog, '.claude', 'agents'), join(root, '.claude', 'agents')])];
}

/** Returns the path of an agent's file, or null if no such file exists. */
export function found(project: Project, name: string): string | null {
  const files = places(project, name).flatMap((place) =>
    isPath(name) ? [place] : extensions.map((extension) => join(place, `${name}${extension}`)),
  );
  return files.find((file) => existsSync(file)) ?? null;
}
