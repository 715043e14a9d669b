import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { defineAgent } from '../../src/index.ts';
import { SessionTools } from '../../src/session/effects/tools.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import type { CatalogTool } from '../../src/tools/catalog-tool.ts';
import { mcpPool } from '../../src/tools/mcp/pool.ts';
import { until } from '../support/journaled.ts';
import { watched } from '../support/observer.ts';
import { listed, ScriptedServer } from '../support/scripted-server.ts';

const models = [rehearsalModel([])];
const never = new AbortController().signal;

/** The tools of a session of this agent; what is shown of them, and what is logged. */
function toolsOf(definition: object, { withAgents = false, only }: { withAgents?: boolean; only?: string[] } = {}) {
  const lines: [string, object, string | undefined][] = [];
  const keep = (level: string) => (fields: object, message?: string) => void lines.push([level, fields, message]);
  const logger = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
  const { observer, heard } = watched({ logger });
  const whole = defineAgent({ name: 'a', models, ...definition });
  const agent = only === undefined ? whole : { ...whole, shown: new Set(only) };
  const shown: string[][] = [];
  const catalog = {
    fails: false,
    show: async (tools: ReadonlyMap<string, CatalogTool>) => {
      if (catalog.fails) throw new Error('no schema');
      shown.push([...tools.keys()]);
    },
  };
  const closed: string[] = [];
  const subAgents = {
    tool: (name: string) => ({ name }),
    close: async () => void closed.push('sub-agents'),
  };
  const tools = new SessionTools({
    ...{ agent, catalog: catalog as never, observer, clock: systemClock },
    subAgents: withAgents ? (subAgents as never) : null,
  });
  return { tools, shown, heard, lines, closed, catalog };
}
const names = (shown: string[][]) => shown.at(-1)?.filter((name) => name !== 'final_report');
const server = (...tools: string[]) => {
  const offered = [...tools];
  const transport = new ScriptedServer({ 'tools/list': () => ({ tools: offered.map((name) => listed(name)) }) });
  return { transport, offered };
};

describe('the tools of a session', () => {
  it('are those of the agent, which all its sessions share', async () => {
    const { tools, shown, closed } = toolsOf({ tools: { look: () => 1 } });
    expect(await tools.open(1_000, never)).toBeNull();
    expect(names(shown)).toEqual(['look']);
    await tools.close();
    await tools.closeServers();
    expect(closed).toEqual([]);
  });

  it('are shown in the order of the definition: its own, its sub-agents, its servers', async () => {
    const helper = defineAgent({ name: 'helper', models });
    const { transport } = server('find', 'read');
    const own = { tools: { look: () => 1 }, agents: { helper }, mcpServers: { docs: { transport } } };
    const { tools, shown, heard, closed } = toolsOf(own, { withAgents: true });
    expect(await tools.open(1_000, never)).toBeNull();
    expect(names(shown)).toEqual(['look', 'helper', 'docs__find', 'docs__read']);
    expect(heard).toMatchObject([{ type: 'server.connected', server: 'docs', tools: ['find', 'read'] }]);
    await tools.close();
    expect([closed, transport.closed]).toEqual([['sub-agents'], 1]);
  });

  it('of a server are only those that the session shows', async () => {
    const { transport } = server('find', 'read');
    const { tools, shown } = toolsOf({ mcpServers: { docs: { transport } } }, { only: ['docs__read'] });
    await tools.open(1_000, never);
    expect(names(shown)).toEqual(['docs__read']);
    await tools.closeServers();
    expect(transport.closed).toBe(1);
  });

  it('are shown again when a server changes its list; if that fails, it is noted', async () => {
    const { transport, offered } = server('find');
    const { tools, shown, lines, catalog } = toolsOf({ mcpServers: { docs: { transport } } });
    await tools.open(1_000, never);
    offered.push('read');
    transport.changed();
    await until(() => shown.length === 2);
    expect(names(shown)).toEqual(['docs__find', 'docs__read']);
    catalog.fails = true;
    offered.push('write');
    await until(() => {
      transport.changed();
      return lines.some(([level, fields]) => level === 'debug' && JSON.stringify(fields).includes('no schema'));
    });
    await tools.close();
  });

  it('are not opened if a server is missing, and say which', async () => {
    const transport = new ScriptedServer({
      initialize: () => {
        throw new Error('No key.');
      },
    });
    const missing = toolsOf({ mcpServers: { docs: { transport } } });
    expect(await missing.tools.open(1_000, never)).toMatch(/docs.*No key\./);
    expect(missing.shown).toEqual([]);
    await missing.tools.close();
    const optional = toolsOf({ tools: { look: () => 1 }, mcpServers: { docs: { transport, optional: true } } });
    expect(await optional.tools.open(1_000, never)).toBeNull();
    expect(names(optional.shown)).toEqual(['look']);
    expect(optional.heard).toMatchObject([{ type: 'server.unavailable', server: 'docs' }]);
    expect(optional.lines.map(([level, fields]) => [level, Object(fields).event])).toContainEqual([
      'info',
      'server.unavailable',
    ]);
    await optional.tools.close();
  });

  it('are not opened after the session has ended, or from a pool that is closed', async () => {
    const { transport } = server('find');
    for (const end of ['close', 'closeServers'] as const) {
      const ended = toolsOf({ mcpServers: { docs: { transport } } });
      await ended.tools[end]();
      expect(await ended.tools.open(1_000, never)).toBe('the session has ended');
      expect([ended.shown, transport.sent]).toEqual([[], []]);
    }
    const pool = mcpPool({ docs: { transport } });
    await pool.close();
    const pooled = toolsOf({ mcpServers: pool.servers });
    expect(await pooled.tools.open(1_000, never)).toContain('closed');
    await pooled.tools.close();
  });
});
