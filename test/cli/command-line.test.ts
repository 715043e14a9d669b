import { describe, expect, it } from 'vitest';
import {
  commands,
  commandTable,
  commandUsage,
  generalUsage,
  isCommand,
  readFlags,
  sessionExitCode,
  UsageError,
} from '../../src/cli/command-line.ts';
import { errorOf } from '../support/temporary.ts';

describe('the command line', () => {
  it('has a command, what follows it, and flags', () => {
    const { command, rest, flags, help, version } = readFlags([
      ...['run', '--model', 'a:b', '--max-turns', '3', '-o', 'out.md', '--json', 'Do it.', '--', '--no-flag'],
    ]);
    expect([command, rest, help, version]).toEqual(['run', ['Do it.', '--no-flag'], false, false]);
    expect(flags).toMatchObject({ model: 'a:b', maxTurns: 3, output: 'out.md', json: true });
  });

  it('what is not given has its default', () => {
    const { command, rest, flags } = readFlags([]);
    expect([command, rest]).toEqual([undefined, []]);
    expect(flags).toEqual({
      tui: false,
      once: false,
      init: false,
      dryRun: false,
      rehearsal: false,
      html: false,
      inspect: false,
      stately: false,
      all: false,
      deny: false,
      json: false,
      log: 'human',
    });
  });

  it('help and the version have short forms', () => {
    expect(readFlags(['run', '-h'])).toMatchObject({ help: true, version: false });
    expect(readFlags(['-v'])).toMatchObject({ help: false, version: true });
    expect(readFlags(['--help', '--version'])).toMatchObject({ help: true, version: true });
  });

  it.each<[string[], object]>([
    [['run', '--log', 'json', '--log-level', 'debug'], { log: 'json', logLevel: 'debug' }],
    [['run', '--log', 'human'], { log: 'human' }],
    [['run', '--max-retries=1'], { maxRetries: 1 }],
    [['inspect', '--port', '0'], { port: 0 }],
    [['run', '--inspect', '--port', '65535'], { inspect: true, port: 65_535 }],
    [['work', '--once', '--dry-run', '--concurrency', '12'], { once: true, dryRun: true, concurrency: 12 }],
  ])('reads the flags of %j', (argv, flags) => {
    expect(readFlags(argv).flags).toMatchObject(flags);
  });

  it.each([
    [['run', '--max-turns', '0'], '`--max-turns` must be an integer of at least 1; got "0".'],
    [['run', '--max-turns', '1.5'], '`--max-turns` must be an integer of at least 1; got "1.5".'],
    [['run', '--max-turns', 'x1'], '`--max-turns` must be an integer of at least 1; got "x1".'],
    [['work', '--max-tokens', '99999999999999999999'], '`--max-tokens` must be at most 9007199254740991'],
    [['inspect', '--port', '65536'], '`--port` must be a port from 0 to 65535; got "65536".'],
    [['inspect', '--port', '80a'], '`--port` must be a port from 0 to 65535; got "80a".'],
    [['torture', '--rate', '101'], '`--rate` must be a number from 0 to 100; got "101".'],
    [
      ['torture', '--wire', 'morse'],
      '`--wire` must be one of openai, openai-responses, anthropic, gemini; got "morse".',
    ],
    [['run', '--log', 'xml'], '`--log` must be human or json; got "xml".'],
    [
      ['run', '--log-level', 'loud'],
      '`--log-level` must be one of trace, debug, info, warn, error, fatal, silent; got "loud".',
    ],
    [['fork', '--mcp', 'a.ts'], '--mcp works with pawl serve, not with pawl fork.'],
    [
      ['chat', '--json'],
      '--json works with pawl run, pawl demo, pawl resume, pawl work, pawl sessions, pawl approvals, pawl cost, pawl check, pawl verify, pawl torture and pawl replay, not with pawl chat.',
    ],
    [['demo', '--concurrency', '2'], '--concurrency works with pawl work, not with pawl demo.'],
    [['run', '--port', '80'], '--port is the port of a page: pass --inspect, too.'],
  ])('%j is refused', (argv, message) => {
    const error = errorOf(() => readFlags(argv));
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({ name: 'UsageError', message: expect.stringContaining(message) });
  });

  it('an unknown flag is refused', () => {
    expect(errorOf(() => readFlags(['run', '--modell', 'x']))).toMatchObject({
      message: expect.stringContaining("Unknown option '--modell'"),
    });
  });

  it.each([
    ['succeeded', 0],
    ['failed', 1],
    ['aborted', 130],
    ['suspended', 75],
  ] as const)('a session that %s has the exit code %i', (status, code) => {
    expect(sessionExitCode({ status })).toBe(code);
  });

  it('the general usage has a line for each command, as wide as a terminal at most', () => {
    const lines = generalUsage().split('\n');
    for (const [name, { args, help }] of Object.entries(commandTable))
      expect(lines).toContain(`  ${`${name} ${args}`.padEnd(30)} ${help}`);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('the usage of a command has the flags that it takes, and only those', () => {
    expect(commandUsage('fork')).toBe(`Usage: pawl fork --at turn-N ID

Start a new session from a turn of another.

Options:
  --journal FILE         the journal to write or read (reads pawl.db by default)
  --at turn-N            where the new session leaves the old one
`);
    expect(commandUsage('init')).toBe(
      'Usage: pawl init [DIRECTORY]\n\nWrite an agent, a tool and a test to begin with.\n',
    );
    expect(commandUsage('run')).toContain('\n  -o, --output FILE      write the report');
    for (const command of commands)
      for (const line of commandUsage(command).split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('knows its commands', () => {
    expect([isCommand('run'), isCommand('runs'), isCommand(undefined), isCommand('toString')]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
