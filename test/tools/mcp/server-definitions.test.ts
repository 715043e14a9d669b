import { describe, expect, it } from 'vitest';
import { PawlError } from '../../../src/input/errors.ts';
import { checkServer } from '../../../src/tools/mcp/definition.ts';

/** The problems of a server's definition. */
function problemsOf(server: unknown, name = 'docs'): readonly string[] {
  try {
    checkServer(name, server);
    return [];
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    expect(error.code).toBe('invalid_server');
    return error.problems;
  }
}

const transport = { start() {}, send() {}, close() {} };

describe('the definition of an MCP server', () => {
  it.each([
    { command: 'node' },
    { command: 'node', args: ['server.js'], env: { KEY: 'k' }, cwd: '/tmp' },
    { url: 'http://127.0.0.1:1' },
    { url: 'https://example.com/mcp', headers: { accept: '*/*' } },
    { transport },
    { transport: () => transport },
    { shared: { command: 'node' } },
    { command: 'node', allow: ['a'], deny: [], needsApproval: true, idempotent: ['a'], optional: true },
    { command: 'node', needsApproval: ['a'], idempotent: false, handlers: {} },
    { command: 'node', handlers: { elicit: () => ({}), sample: () => ({}) } },
  ])('%j is valid', (server) => {
    expect(problemsOf(server)).toEqual([]);
  });

  const oneKind = 'an object with exactly one of `command`, `url` and `transport`';
  it.each([
    ['node', `\`mcpServers.docs\` must be ${oneKind}; got "node".`],
    [null, `\`mcpServers.docs\` must be ${oneKind}; got null.`],
    [undefined, `\`mcpServers.docs\` is required: ${oneKind}.`],
    [{}, `\`mcpServers.docs\` must be ${oneKind}; got {}.`],
    [{ shared: 7 }, `\`mcpServers.docs\` must be ${oneKind}; got 7.`],
    [{ shared: null }, `\`mcpServers.docs\` must be ${oneKind}; got null.`],
    [{ command: 'a', url: 'b' }, `\`mcpServers.docs\` must be ${oneKind}; got {"command":"a","url":"b"}.`],
    [{ command: '' }, '`mcpServers.docs.command` must be a command; got "".'],
    [{ command: 7 }, '`mcpServers.docs.command` must be a command; got 7.'],
    [{ command: 'a', args: 'b' }, /^`mcpServers\.docs\.args` must be an array of strings; got "b"\.$/],
    [{ command: 'a', env: { A: 1 } }, /^`mcpServers\.docs\.env\.A` must be .*; got 1\.$/],
    [{ command: 'a', env: 'A=1' }, '`mcpServers.docs.env` must be an object of strings; got "A=1".'],
    [{ command: 'a', cwd: 7 }, '`mcpServers.docs.cwd` must be a directory; got 7.'],
    [{ url: 'ftp://a' }, '`mcpServers.docs.url` must be an http or https URL; got "ftp://a".'],
    [{ url: 'here' }, '`mcpServers.docs.url` must be an http or https URL; got "here".'],
    [{ url: 'http://a', headers: [] }, '`mcpServers.docs.headers` must be an object of strings; got [].'],
    [{ transport: {} }, '`mcpServers.docs.transport` must be an MCP transport, or a function that makes one; got {}.'],
    [
      { transport: { start() {}, send() {} } },
      '`mcpServers.docs.transport` must be an MCP transport, or a function that makes one; got {}.',
    ],
    [{ command: 'a', optional: 'no' }, /^`mcpServers\.docs\.optional` must be .*; got "no"\.$/],
    [{ command: 'a', allow: 'b' }, '`mcpServers.docs.allow` must be an array of tool names; got "b".'],
    [{ command: 'a', deny: {} }, '`mcpServers.docs.deny` must be an array of tool names; got {}.'],
    [
      { command: 'a', needsApproval: 'yes' },
      '`mcpServers.docs.needsApproval` must be a boolean or an array of tool names; got "yes".',
    ],
    [
      { command: 'a', idempotent: 1 },
      '`mcpServers.docs.idempotent` must be a boolean or an array of tool names; got 1.',
    ],
    [
      { command: 'a', handlers: { elicit: 'e' } },
      /^`mcpServers\.docs\.handlers\.elicit` must be a function, or 'ask'; got "e"\.$/,
    ],
    [{ command: 'a', handlers: { sample: 7 } }, /^`mcpServers\.docs\.handlers\.sample` must be a function; got 7\.$/],
    [
      { command: 'a', handlers: { ask: 1 } },
      /^Unknown option `mcpServers\.docs\.handlers\.ask`\. Options: elicit, sample\.$/,
    ],
    [{ command: 'a', headers: {} }, /^Unknown option `mcpServers\.docs\.headers`\./],
    [{ url: 'http://a', env: {} }, /^Unknown option `mcpServers\.docs\.env`\./],
    [{ transport, args: [] }, /^Unknown option `mcpServers\.docs\.args`\./],
  ])('%j is refused', (server, problem) => {
    expect(problemsOf(server)).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
  });

  it('all problems of one server are reported together', () => {
    expect(problemsOf({ command: 'a', allow: 1, deny: 2 })).toHaveLength(2);
  });

  it.each(['a', 'A-b_9', 'x'.repeat(32)])('the name %j is valid', (name) => {
    expect(problemsOf({ command: 'a' }, name)).toEqual([]);
  });

  it.each(['', 'a b', 'a.b', 'é', 'x'.repeat(33), 'a\n', 'a__b', 'a_'])('the name %j is refused', (name) => {
    expect(problemsOf({ command: 'a' }, name)).toEqual([
      `\`the name of mcpServers.${name}\` must be 1 to 32 characters from A-Z, a-z, 0-9, _ and -, with no __ in it and no _ at its end; got ${JSON.stringify(name)}.`,
    ]);
  });
});
