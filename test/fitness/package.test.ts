import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageVersion } from '../../src/platform/version.ts';

type Lock = { packages: Record<string, { optionalDependencies?: Record<string, string> }> };

it('the lock file names every optional package it needs, so that npm ci works with any registry', () => {
  const { packages }: Lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const missing = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies).filter((name) => packages[`node_modules/${name}`] === undefined),
  );
  expect(missing).toEqual([]);
  expect(readFileSync('package-lock.json', 'utf8')).not.toContain('"resolved"');
});

it('servers and clients say the version of the package', () => {
  expect(JSON.parse(readFileSync('package.json', 'utf8')).version).toBe(packageVersion);
});

describe('the packed package, installed in a separate project', () => {
  const project = mkdtempSync(join(tmpdir(), 'pawl-package-'));
  const sdkScope = '@modelcontextprotocol';
  const run = (command: string, args: readonly string[]) =>
    execFileSync(command, args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  beforeAll(() => {
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', project], { stdio: 'pipe' });
    const modules = join(project, 'node_modules');
    mkdirSync(join(modules, 'pawl'), { recursive: true });
    const [tarball] = readdirSync(project).filter((name) => name.endsWith('.tgz'));
    run('tar', ['xzf', tarball ?? '', '--strip-components=1', '-C', join(modules, 'pawl')]);
    for (const name of readdirSync('node_modules')) {
      if (!name.startsWith('.') && name !== sdkScope) symlinkSync(resolve('node_modules', name), join(modules, name));
    }
    // Users have the SDK but not the file system server, which is a development dependency.
    mkdirSync(join(modules, sdkScope));
    for (const name of ['client', 'core', 'server'])
      symlinkSync(resolve('node_modules', sdkScope, name), join(modules, sdkScope, name));
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  });
  afterAll(() => rmSync(project, { recursive: true }));

  it("the README's example runs and prints the output that the README shows", () => {
    const [, example = ''] = /## Use it.*?```ts\n(.*?)```/s.exec(readFileSync('README.md', 'utf8')) ?? [];
    const said = example.trim().split('\n').at(-1)?.replace('// ', '');
    writeFileSync(join(project, 'example.ts'), example);
    expect(run(process.execPath, ['example.ts']).trim()).toBe(said);
  });

  it('its demo uses its own tools if the file system server is not installed', () => {
    const said = run(process.execPath, [join('node_modules', 'pawl', 'dist', 'src', 'cli', 'main.js'), 'demo', '.']);
    expect(said).toContain('list_directory');
    expect(said).not.toContain('files__');
    expect(said).toContain('● succeeded');
  });

  it('its types compile in a strict project', () => {
    const [, example = ''] = /## Use it.*?```ts\n(.*?)```/s.exec(readFileSync('README.md', 'utf8')) ?? [];
    writeFileSync(
      join(project, 'example.ts'),
      `${example}\nconst shelf: string | false = result.report.accepted && result.report.content.shelf;\nconsole.log(shelf);\nconst plain = defineAgent({ name: 'plain', models: agent.definition.models });\nconst text: string = (await runSession(plain, { prompt: 'Hi.' })).report.content;\nconsole.log(text);\n`,
    );
    const compilerOptions = {
      strict: true,
      module: 'nodenext',
      target: 'es2024',
      declaration: true,
      emitDeclarationOnly: true,
      outDir: 'declared',
      types: ['node'],
      skipLibCheck: false,
    };
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['example.ts', 'library.ts'] }),
    );
    // A library that exports what it makes of the machines has declarations, which name their types.
    writeFileSync(
      join(project, 'library.ts'),
      "import { sessionMachine, slugTable, turnMachine } from 'pawl/machines';\nexport const session = sessionMachine.provide({ actors: { turn: turnMachine } });\nexport const table = slugTable;\n",
    );
    const { stdout, status } = spawnSync(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', '.'], {
      cwd: project,
      encoding: 'utf8',
    });
    expect([stdout, status]).toEqual(['', 0]);
  });

  it('exports exactly these names', () => {
    const names = (entry: string) =>
      run(process.execPath, [
        '-e',
        `import('${entry}').then((all) => console.log(Object.keys(all).sort().join(' ')))`,
      ]).trim();
    expect(names('pawl')).toBe(
      'PawlError ToolError abortSession allow answerSession approveSession boundedFetch callDecidedBy checkSessions defineAgent deleteSession deny exportSession forkSession handoff idempotent listSessions mcpPool noRepeats openApiTools pendingApprovals pruneSessions readBeforeWrite readSession replace replaySession requires restTool resultReader resumeAll resumeSession runBatch runSession serveMcp sharedBudget slice slugs sqliteCache sqliteJournal startSession steerSession stopSession',
    );
    expect(names('pawl/workflow')).toBe('createWorkItem runWorkflow workItemTool');
    expect(names('pawl/workspace')).toBe('fileTools shellTool');
    expect(names('pawl/inspect')).toBe('inspector sessionFile statelyInspector');
    expect(names('pawl/ui')).toBe(
      'SessionFailed agUiHandler chatHandler followSession fromUIMessages lastEventId listChats partialReport readUIRequest toAgUiStream toAgent toEventStreamResponse toUIMessageStream toUIMessageStreamResponse toUIMessages',
    );
    expect(names('pawl/openai')).toBe('openaiHandler serveOpenai');
    expect(names('pawl/acp')).toBe('serveAcp');
    expect(names('pawl/otel')).toBe('openTelemetry');
    expect(names('pawl/postgres')).toBe('postgresJournal');
    expect(names('pawl/restate')).toBe('restateAgents');
    expect(names('pawl/testing')).toBe(
      'assertInvariants brokenPromises evaluate journalConformance manualClock pawlMatchers recorded recordedAgent recordedModel recordingModel rehearsalModel replayFixture sessionPaths startModelServer verifySessions',
    );
    expect(names('pawl/testing/fast-check')).toBe('arbitraryFault arbitraryReply');
    expect(names('pawl/machines').split(' ')).toEqual(
      expect.arrayContaining(['sessionMachine', 'turnMachine', 'attemptMachine', 'toolCallMachine', 'slugs']),
    );
  });
});
