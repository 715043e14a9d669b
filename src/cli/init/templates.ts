import { readFileSync } from 'node:fs';
import { packageFile } from '../package-root.ts';

type Package = { version: string; peerDependencies: Record<string, string> };

const files = ['catalogue.js', 'agent.js', 'agent.test.js'];

/** The files of a new project, by name. */
export function templates(name: string): Record<string, string> {
  const { version, peerDependencies }: Package = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  const peers = ['@ai-sdk/openai', 'ai', 'zod'].map((peer) => [peer, peerDependencies[peer]]);
  const project = {
    name,
    private: true,
    type: 'module',
    scripts: { start: 'pawl chat --agent agent.js', test: 'node --test' },
    dependencies: { ...Object.fromEntries(peers), pawl: `^${version}` },
  };
  return {
    'package.json': `${JSON.stringify(project, null, 2)}\n`,
    ...Object.fromEntries(files.map((file) => [file, readFileSync(packageFile(`templates/${file}`), 'utf8')])),
  };
}
