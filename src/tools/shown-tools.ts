import type { Message, Permission } from '../../machines/index.ts';
import type { Clock } from '../host/clock.ts';
import { inTime } from '../host/deadline.ts';
import { messageOf } from '../input/errors.ts';
import { isSameList } from '../platform/text.ts';
import type { OfferedTool } from '../vocabulary/offered-tool.ts';
import type { CatalogTool } from './catalog-tool.ts';

export type ShownToolsOptions = {
  clock: Clock;
  /** How long the schema of a tool may take to be made. */
  checkTimeoutMs: number;
  /** The plan of the turn names the tools that it may call, and those that it offers (T-7); null for all. */
  conversation: { readonly messages: readonly Message[]; readonly plan: PlannedTools | null } & {
    /** The tools whose schema a provider refused (P-2). */
    readonly refusedSchemas?: ReadonlySet<string>;
  };
};

type PlannedTools = { tools: readonly string[] | null; offered: readonly string[] | null };

export type Tools = ReadonlyMap<string, CatalogTool>;
type Offers = { all: readonly OfferedTool[]; report: readonly OfferedTool[] };

/** Tools, their `forms` for providers by name, and the lists of forms that requests offer. */
type Shown = { tools: Tools; forms: ReadonlyMap<string, OfferedTool>; offers: Offers };

const nothing: Shown = { tools: new Map(), forms: new Map(), offers: { all: [], report: [] } };

/** Cache: all sessions of an agent share its own tools. */
const shownBefore = new WeakMap<Tools, Shown>();

/** The tools of a session by name, in a fixed order, because the order is part of the prefix that providers cache. */
export class ShownTools {
  private readonly limits: ShownToolsOptions;
  private whole = nothing;
  /** The tools of a turn that lacks some, made once for each list, since the list is part of the cached prefix. */
  private turn: { names: readonly string[]; offers: Offers } | null = null;
  /** The last list with stubs of schemas, made once, since the list is part of the cached prefix. */
  private stubbed: { of: readonly OfferedTool[]; refused: number; list: readonly OfferedTool[] } | null = null;
  private shown = 0;

  constructor(limits: ShownToolsOptions) {
    this.limits = limits;
  }

  /**
   * Sets the tools. Await it before the first request, and again whenever a server's list changes. Of two concurrent
   * calls, the later one wins.
   */
  async show(tools: Tools): Promise<void> {
    this.shown += 1;
    const own = this.shown;
    const whole = shownBefore.get(tools) ?? (await this.shownOf(tools));
    shownBefore.set(tools, whole);
    if (own !== this.shown) return;
    this.whole = whole;
    this.turn = null;
  }

  private async shownOf(tools: Tools): Promise<Shown> {
    const { clock, checkTimeoutMs: timeoutMs } = this.limits;
    const late = `its schema was not ready within ${timeoutMs} ms`;
    const made = [...tools.values()].map(async ({ name, offered }) => {
      try {
        return [name, await inTime({ clock, timeoutMs }, late, () => offered)] as const;
      } catch (error) {
        throw new Error(`tools.${name} cannot be offered: ${messageOf(error)}`, { cause: error });
      }
    });
    const forms = new Map(await Promise.all(made));
    return { tools, forms, offers: offersOf(tools, forms) };
  }

  protected get tools(): Tools {
    return this.whole.tools;
  }

  /** All tools of the session, those that this turn lacks among them. */
  all(): CatalogTool[] {
    return [...this.tools.values()];
  }

  /**
   * Returns the tools to offer in a request (B-5). Without a report tool it returns all of them, because providers
   * require the tool list if the conversation has tool calls. A provider's own tool stays once it was called: without it,
   * the SDK would leave out what the provider found.
   */
  offered(offer: Permission): readonly OfferedTool[] {
    const { all, report } = this.offersOf(this.limits.conversation.plan?.offered ?? null);
    if (offer !== 'report' || report.length === 0) return this.accepted(all);
    const kept = all.filter(
      ({ type, name }) => type === 'provider' && hasCalls(this.limits.conversation.messages, name),
    );
    return this.accepted(kept.length === 0 ? report : [...report, ...kept]);
  }

  /** Returns a list with a schema that permits anything in place of each that a provider refused. */
  private accepted(list: readonly OfferedTool[]): readonly OfferedTool[] {
    const { refusedSchemas } = this.limits.conversation;
    if (refusedSchemas === undefined || refusedSchemas.size === 0) return list;
    if (this.stubbed?.of === list && this.stubbed.refused === refusedSchemas.size) return this.stubbed.list;
    const isRefused = (tool: OfferedTool) => tool.type === 'function' && refusedSchemas.has(tool.name);
    const stubbed = list.map((tool) =>
      isRefused(tool) ? { ...tool, inputSchema: { type: 'object' as const } } : tool,
    );
    this.stubbed = { of: list, refused: refusedSchemas.size, list: stubbed as OfferedTool[] };
    return this.stubbed.list;
  }

  /** Returns the tools to offer in a turn that offers those of these names; null for all. */
  offeredOf(names: readonly string[] | null): readonly OfferedTool[] {
    return this.offersOf(names).all;
  }

  /** The names of the tools that the turn may call. */
  protected get permitted(): readonly string[] {
    const names = [...this.tools.keys()];
    const { tools = null } = this.limits.conversation.plan ?? {};
    return tools === null ? names : names.filter((name) => tools.includes(name));
  }

  /** Returns a tool that the turn may call, or that its requests offer. */
  protected shownTool(name: string): CatalogTool | undefined {
    const { tools = null, offered = null } = this.limits.conversation.plan ?? {};
    const isShown = tools === null || tools.includes(name) || offered === null || offered.includes(name);
    return isShown ? this.tools.get(name) : undefined;
  }

  private offersOf(names: readonly string[] | null): Offers {
    if (names === null) return this.whole.offers;
    if (this.turn !== null && isSameList(this.turn.names, names)) return this.turn.offers;
    const tools = new Map([...this.tools].filter(([name]) => names.includes(name)));
    // Without any tool, a conversation that has calls would be refused by its provider.
    const offered = tools.size === 0 && hasCalls(this.limits.conversation.messages) ? this.tools : tools;
    const turn = { names, offers: offersOf(offered, this.whole.forms) };
    if (tools.size > 0) this.turn = turn;
    return turn.offers;
  }

  takesText(name: string): boolean {
    return this.tools.get(name)?.takesText === true;
  }

  /** Whether a tool's provider may give its result in a later reply. */
  isDeferred(name: string): boolean {
    return this.tools.get(name)?.isDeferred === true;
  }

  get(name: string): CatalogTool | undefined {
    return this.tools.get(name);
  }
}

function offersOf(tools: Tools, forms: Shown['forms']): Offers {
  const listed = (list: CatalogTool[]) => list.flatMap(({ name }) => forms.get(name) ?? []);
  const all = [...tools.values()];
  return { all: listed(all), report: listed(all.filter(({ kind }) => kind === 'report')) };
}

/** Whether the messages have calls, of the tool with this name or of any. */
function hasCalls(messages: readonly Message[], name?: string): boolean {
  const isCall = (part: { type: string; toolName?: string }) =>
    part.type === 'tool-call' && part.toolName === (name ?? part.toolName);
  return messages.some(({ role, content }) => role === 'assistant' && content.some(isCall));
}
