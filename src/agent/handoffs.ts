import { fieldName, PawlError, unexpected } from '../input/errors.ts';
import type { Target } from '../model/targets.ts';
import type { CatalogTool } from '../tools/catalog-tool.ts';
import { builtInNames, finalReportName } from '../vocabulary/built-ins.ts';
import { knownPrice } from '../vocabulary/known-prices.ts';
import type { Price } from '../vocabulary/prices.ts';
import { type Agent, type AgentDefinition, requireAgent, type Voice } from './definition.ts';
import { handedAgent, handoffToolOf } from './handoff.ts';

/** Whether a tool of the session belongs to a voice. */
export function hasTool({ tools, definition }: Voice, { name, server }: Pick<CatalogTool, 'name' | 'server'>): boolean {
  return server === undefined ? tools.has(name) : definition.mcpServers?.[server] !== undefined;
}

/** Whether each agent that may get the conversation has the tool, so that what one is told holds for the next. */
export function allHave({ voices }: Pick<Agent, 'voices'>, name: string): boolean {
  return voices.every(({ tools }) => tools.has(name));
}

/** Returns the voice of this name; null names the agent that the session began with. */
export function voiceOf({ voices }: Pick<Agent, 'voices'>, name: string | null): Voice {
  const voice = voices.find((one) => one.name === name);
  if (voice === undefined) throw new Error(`there is no agent "${name}" to hand over to`);
  return voice;
}

/** An agent by itself, before those that it may hand over to join it. */
type Alone = Omit<Agent, 'voices' | 'agents' | 'mcpServers' | 'pricing'>;

/**
 * Joins an agent with the agents that it can hand over to, directly or through others. They share one conversation, so
 * it throws if a name has two meanings.
 */
export function joined(alone: Alone): Agent {
  const { definition } = alone;
  const handoffs = Object.entries(definition.handoffs ?? {});
  const party = new Party(alone);
  for (const [name, entry] of handoffs) {
    const field = fieldName('handoffs', [name]);
    checkHandoff(alone, field, handedAgent(entry));
    const tool = handoffToolOf(name, entry, field);
    party.own.add(party.tool(tool, tool.meaning ?? handedAgent(entry).voices[0]?.definition, field));
  }
  for (const [name, entry] of handoffs) party.invite(name, handedAgent(entry));
  const { targets, tools, voices, agents, mcpServers } = party;
  const pricing = { ...knownPrices([...targets, ...[alone.compaction?.target ?? []].flat()]), ...party.pricing };
  return { ...alone, targets, tools, voices, agents, mcpServers, pricing };
}

/** What the well-known models cost, by target name; those that the user states go before. */
function knownPrices(targets: readonly Target[]): Record<string, Price> {
  return Object.fromEntries(
    targets.flatMap(({ name }) => {
      const price = knownPrice(name);
      return price === undefined ? [] : [[name, price] as const];
    }),
  );
}

/** The agents that share a conversation, and what they bring along. */
class Party {
  readonly own: Set<string>;
  readonly voices: Voice[];
  readonly tools: Map<string, CatalogTool>;
  readonly targets: Target[];
  readonly agents: Record<string, Agent>;
  readonly mcpServers: Record<string, Agent['mcpServers'][string]>;
  readonly pricing: Record<string, Agent['pricing'][string]>;
  /** What a tool's or a server's name stands for. */
  private readonly meanings = new Map<string, unknown>();

  constructor({ definition, checkContext, tools, targets }: Alone) {
    const { agents = {}, mcpServers = {}, pricing = {} } = definition;
    this.tools = new Map(tools);
    this.targets = [...targets];
    this.agents = { ...agents };
    this.mcpServers = { ...mcpServers };
    this.pricing = { ...pricing };
    this.own = new Set([...tools.keys(), ...Object.keys(agents)]);
    const names = new Map(targets.map(({ name }) => [name, name]));
    this.voices = [{ name: null, definition, checkContext, tools: this.own, targets: names }];
    for (const [name, meaning] of meaningsIn(definition)) this.meanings.set(name, meaning);
  }

  /** Adds a tool, which stands for `meaning`. Returns its name. */
  tool(tool: CatalogTool, meaning: unknown, field: string): string {
    if (!builtInNames.includes(tool.name)) this.mean(tool.name, meaning, field);
    if (!this.tools.has(tool.name)) this.tools.set(tool.name, tool);
    return tool.name;
  }

  /** Adds an agent, under its name in `handoffs`, and those that it hands over to. */
  invite(name: string, agent: Agent): void {
    const field = fieldName('handoffs', [name]);
    const names = new Map(agent.targets.map((target) => [target.name, this.place(target)]));
    for (const [target, price] of Object.entries(agent.pricing)) this.pricing[names.get(target) ?? target] ??= price;
    for (const voice of agent.voices) {
      const as = voice.name ?? name;
      const known = this.voices.find((one) => one.name === as);
      if (known?.definition === voice.definition) continue;
      if (known !== undefined) throw twice(field, `agent "${as}"`);
      this.takeVoice(
        {
          ...voice,
          name: as,
          targets: new Map([...voice.targets].map(([own, name]) => [own, names.get(name) ?? name])),
        },
        agent,
        field,
      );
    }
  }

  private takeVoice(voice: Voice, agent: Agent, field: string): void {
    const { agents = {}, mcpServers = {} } = voice.definition;
    const meanings = meaningsIn(voice.definition);
    for (const name of voice.tools) {
      const tool = agent.tools.get(name);
      const handedTo = tool?.handsTo;
      const meaning =
        tool?.meaning ?? (handedTo === undefined ? meanings.get(name) : voiceOf(agent, handedTo).definition);
      if (tool !== undefined) this.tool(tool, meaning, field);
      else this.mean(name, meaning, field);
    }
    for (const name of Object.keys(mcpServers)) this.mean(`${name}__`, mcpServers[name], field);
    Object.assign(this.agents, agents);
    Object.assign(this.mcpServers, mcpServers);
    const report = this.tools.has(finalReportName) ? [finalReportName] : [];
    this.voices.push({ ...voice, tools: new Set([...voice.tools, ...report]) });
  }

  private mean(name: string, meaning: unknown, field: string): void {
    if (this.meanings.has(name) && this.meanings.get(name) !== meaning) throw twice(field, `tool "${name}"`);
    this.meanings.set(name, meaning);
  }

  /** Adds a target under a name of its own. Returns the name. */
  private place(target: Target): string {
    const same = this.targets.find((one) => one.isSame(target));
    if (same !== undefined) return same.name;
    const taken = new Set(this.targets.map(({ name }) => name));
    let { name } = target;
    for (let copy = 2; taken.has(name); copy += 1) name = `${target.name}#${copy}`;
    this.targets.push(target.named(name));
    return name;
  }
}

function meaningsIn({ tools = {}, agents = {}, mcpServers = {} }: AgentDefinition): Map<string, unknown> {
  const servers = Object.entries(mcpServers).map(([name, server]) => [`${name}__`, server] as const);
  return new Map<string, unknown>([...Object.entries(tools), ...Object.entries(agents), ...servers]);
}

/** The session reports as the agent that it began with does, whoever speaks last. */
function checkHandoff(alone: Alone, field: string, agent: unknown): asserts agent is Agent {
  requireAgent(agent, field, 'invalid_agent');
  const { definition, format } = agent;
  const finish = (of: AgentDefinition) => of.finish ?? 'report';
  const isSame =
    finish(definition) === finish(alone.definition) &&
    format.name === alone.format.name &&
    definition.report?.schema === alone.definition.report?.schema;
  if (isSame) return;
  const what = `an agent that ends its sessions in the same way, with the same \`finish\` and \`report\``;
  throw unexpected('invalid_agent', field, agent.name, what);
}

function twice(field: string, what: string): PawlError {
  return new PawlError(
    'duplicate_tool',
    `\`${field}\` must not bring a different ${what}: in a shared conversation a name means one thing.`,
  );
}
