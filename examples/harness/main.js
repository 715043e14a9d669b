/** An agent of Pawl under the AI SDK's `HarnessAgent`: in a sandbox, over ACP. Its first reply is empty. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessAgent } from '@ai-sdk/harness/agent';
import { createACP } from '@ai-sdk/harness-acp';
import { folderSandbox } from './folder-sandbox.js';

// What the sandbox installs: a version from npm, or a packed file.
const pawl = process.argv[2] ?? 'pawl';
const start = '#!/bin/sh\\nexec "$HOME/agent/node_modules/.bin/pawl" acp --agent "$HOME/agent/agent.js"\\n';
const install = [
  'mkdir -p "$HOME/agent" "$HOME/.local/bin" && cd "$HOME/agent"',
  `printf '%s' '${JSON.stringify({ type: 'module', private: true })}' > package.json`,
  `npm install --no-audit --no-fund --silent '${pawl}' ai zod`,
  `cat > agent.js <<'END'\n${readFileSync(join(import.meta.dirname, 'agent.js'), 'utf8')}END`,
  `printf '${start}' > "$HOME/.local/bin/forecaster" && chmod +x "$HOME/.local/bin/forecaster"`,
];
const agent = new HarnessAgent({
  harness: createACP({
    harnessId: 'acp-pawl',
    source: { type: 'install-command', command: `set -e\n${install.join('\n')}` },
    executable: 'forecaster',
    modelMapping: { type: 'session-config-option', path: 'model' },
  }),
  sandbox: folderSandbox(),
  permissionMode: 'allow-all',
});
const session = await agent.createSession();
try {
  const { text, steps } = await agent.generate({ session, prompt: 'Do I need an umbrella?' });
  const parts = steps.flatMap(({ content }) => content.map(({ type }) => type));
  console.log(parts.join(' '), text);
} finally {
  await session.destroy();
}
process.exit();
