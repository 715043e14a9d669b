import { afterEach, describe, expect, it, vi } from 'vitest';
import { thinned } from '../../../src/tools/mcp/stdio.ts';
import { call, odd, texts } from '../../support/mcp.ts';
import { report, runOverWire } from '../../support/session.ts';

afterEach(() => vi.unstubAllEnvs());

describe('servers that flood their client', () => {
  it.each([
    ['--many', 512, /^skipped all tools after the first 512$/],
    ['--heavy', 0, /^skipped all tools after the first 0: the list is larger than 4194304 bytes$/],
  ])('with %s, the list of tools is capped', async (flag, most, left) => {
    const run = await runOverWire({ script: [report()], definition: { mcpServers: { odd: odd(flag) } } });
    expect(run.requests[0]?.body.tools).toHaveLength(most + 1);
    const told = run.lines.flatMap(({ event, line }) => (event === 'server.unavailable' ? [String(line)] : []));
    expect(told).toEqual([expect.stringMatching(left)]);
  });

  it('a description is cut, since every request repeats it', async () => {
    const { requests } = await runOverWire({ script: [report()], definition: { mcpServers: { odd: odd('--wordy') } } });
    const offered = requests[0]?.body.tools?.find((one) => one.function?.name === 'odd__wordy');
    expect(JSON.stringify(offered).length).toBeLessThan(4_500);
    expect(JSON.stringify(offered)).toContain('…');
  });

  it('a flood on stderr is thinned, and says so', async () => {
    const said: string[] = [];
    const take = thinned((line) => said.push(line));
    for (let line = 1; line <= 100_000; line += 1) take(`noise ${line}`);
    expect(said).toHaveLength(500 + 995);
    expect(said.at(-1)).toBe('[99 lines left out] noise 100000');
    const { lines } = await runOverWire({
      script: [{ calls: [call('odd__flood')] }, report()],
      definition: { mcpServers: { odd: odd() } },
    });
    const told = lines.filter(({ event }) => event === 'server.said');
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThan(530);
  });

  it('S-5: only the environment that is named, and a few harmless variables, go to a server', async () => {
    vi.stubEnv('PAWL_TEST_SECRET', 'juniper-lantern-7');
    vi.stubEnv('OPENAI_API_KEY', 'sk-of-this-process');
    const run = await runOverWire({
      script: [{ calls: [call('odd__environment')] }, report()],
      definition: { mcpServers: { odd: { ...odd(), env: { NAMED: 'yes' } } } },
    });
    const environment = JSON.parse(texts(run)[0] ?? '');
    expect(environment).toMatchObject({ NAMED: 'yes', PATH: expect.any(String) });
    const harmless = ['NAMED', 'HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
    // Node adds a variable of its own on some platforms.
    const more = Object.keys(environment).filter((name) => !harmless.includes(name) && !name.startsWith('__'));
    expect(more).toEqual([]);
  });
});
