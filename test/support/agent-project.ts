import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type AgentSurroundings, readAgentFile } from '../../src/cli/agent-file.ts';
import { temporaryFolder } from './temporary.ts';

/** Where Claude Code keeps its agents. */
export const claude = { name: '.claude/agents/one.md' };

/** The names of a definition's tools. */
export const namesOf = ({ tools = {} }: { tools?: object | undefined }) => Object.keys(tools);

/** A project with agent files in a temporary folder. */
export class AgentProject {
  readonly folder = temporaryFolder();
  /** What was noted about agent files, in order. */
  readonly notes: string[] = [];

  surroundings(own: Partial<AgentSurroundings> = {}): AgentSurroundings {
    return {
      root: this.folder,
      project: this.folder,
      commands: [],
      except: [],
      models: {},
      note: (text) => void this.notes.push(text),
      ...own,
    };
  }

  /** Writes a file. Returns its path. */
  write(name: string, text: string): string {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Returns the definition in an agent file with this front matter. */
  read(
    matter: string,
    { name = 'agents/one.md', body = '', ...own }: Partial<AgentSurroundings> & { name?: string; body?: string } = {},
  ) {
    return readAgentFile(this.write(name, `---\n${matter}\n---\n${body}`), this.surroundings(own));
  }
}
