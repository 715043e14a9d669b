import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type { AnyActorRef, AnyEventObject, InspectionEvent } from 'xstate';
import { z } from 'zod';
import { notedSecrets } from '../agent/secrets.ts';
import { check } from '../input/check.ts';
import { withPeer } from '../input/peer.ts';
import { port as aPort, texts } from '../input/shapes.ts';
import { plainJson } from '../platform/plain-json.ts';
import { redact } from '../secrets/redact.ts';
import { startRelay } from './relay.ts';

export type StatelyInspectorOptions = {
  /** Port of the relay, in Node; 0 for any free one; default: 8080. */
  port?: number;
  /** Origins of further pages that may read from the relay. Stately's page and loopback always may. */
  origins?: readonly string[];
  /** Secrets to redact from everything sent, in addition to those of agents and those recognized by pattern. */
  secrets?: readonly string[];
  /** Maximum characters sent per text; default: 200. */
  textLength?: number;
};

export type StatelyInspector = {
  /** Pass it to `startSession` as `inspect`, for any number of sessions. */
  readonly inspect: (event: InspectionEvent) => void;
  /** The URL of the inspector page; null in a browser, where the inspector opens automatically. */
  readonly address: string | null;
  stop(): void;
};

type Sender = { send(event: StatelyInspectionEvent): void; stop(): void; address: string | null };

const defaultPort = 8_080;
const optionsSchema = z.strictObject({
  port: aPort.optional(),
  origins: texts.optional(),
  secrets: texts.optional(),
  // Infinity cuts nothing.
  textLength: z
    .custom<number>((value) => typeof value === 'number' && value >= 0, { error: 'a number of at least 0' })
    .optional(),
} satisfies Record<keyof StatelyInspectorOptions, z.ZodType>);

const version = '0.7.2';

/**
 * Starts the Stately inspector. In a browser it opens a window, by `@statelyai/inspect`; in Node it starts a WebSocket
 * relay on the loopback address, whose page shows the sessions as hierarchies of actors. Nothing is sent before this
 * call. Rejects with `invalid_options` if the options are invalid or the port is taken.
 */
export async function statelyInspector(options: StatelyInspectorOptions = {}): Promise<StatelyInspector> {
  check(optionsSchema, options, '', 'invalid_options', 'options');
  const { port = defaultPort, origins = [], secrets = [], textLength = 200 } = options;
  const isBrowser = 'document' in globalThis;
  const sender = isBrowser ? await browserSender() : await relaySender(port, origins);
  const translator = new Translator((text) => {
    const clean = redact(text, [...secrets, ...notedSecrets()]);
    return clean.length > textLength ? `${clean.slice(0, textLength)}… (${clean.length} characters)` : clean;
  });
  return {
    inspect: (event) => {
      for (const translated of translator.translate(event)) sender.send(translated);
    },
    address: sender.address,
    stop: () => sender.stop(),
  };
}

async function browserSender(): Promise<Sender> {
  const { createBrowserInspector } = await withPeer('@statelyai/inspect', () => import('@statelyai/inspect'));
  const inspector = createBrowserInspector();
  return { send: (event) => inspector.adapter.send(event), stop: () => inspector.stop(), address: null };
}

async function relaySender(port: number, origins: readonly string[]): Promise<Sender> {
  const { address, send, stop } = await startRelay(port, origins);
  return {
    address,
    send: (event) => {
      const { type, rootId, sessionId } = event;
      send({ type, rootId: String(rootId), sessionId, text: JSON.stringify(event) });
    },
    stop,
  };
}

/**
 * Translates XState's inspection events for the inspector. Actors get names that show the hierarchy, and ids that are
 * unique across sessions. An actor is announced with its first snapshot. Bodies are cut and secrets removed (S-5).
 */
class Translator {
  private readonly clean: (text: string) => string;
  private readonly systems = new WeakMap<object, string>();
  private readonly announced = new WeakSet<object>();
  private readonly definitions = new WeakMap<object, string>();
  private count = 0;

  constructor(clean: (text: string) => string) {
    this.clean = clean;
  }

  translate(inspected: InspectionEvent): StatelyInspectionEvent[] {
    const actor = inspected.actorRef as AnyActorRef;
    const base = {
      sessionId: this.idOf(actor),
      rootId: this.idOf(rootOf(actor)),
      createdAt: Date.now().toString(),
      id: '',
      _version: version,
    };
    switch (inspected.type) {
      case '@xstate.event': {
        const { sourceRef } = inspected;
        const sourceId = sourceRef === undefined ? undefined : this.idOf(sourceRef as AnyActorRef);
        const event: AnyEventObject = this.tame(inspected.event);
        return [...this.announce(actor), { type: inspected.type, event, sourceId, ...base }];
      }
      case '@xstate.snapshot': {
        const snapshot = this.tame(inspected.snapshot);
        const event: AnyEventObject = this.tame(inspected.event);
        return [...this.announce(actor), { type: inspected.type, event, snapshot, ...base }];
      }
      default:
        return [];
    }
  }

  private announce(actor: AnyActorRef): StatelyInspectionEvent[] {
    if (this.announced.has(actor)) return [];
    this.announced.add(actor);
    const parent = parentOf(actor);
    const announcement: StatelyInspectionEvent = {
      type: '@xstate.actor',
      name: nameOf(actor),
      snapshot: this.tame(actor.getSnapshot()),
      definition: this.definitionOf(actor),
      parentId: parent === null ? undefined : this.idOf(parent),
      sessionId: this.idOf(actor),
      rootId: this.idOf(rootOf(actor)),
      createdAt: Date.now().toString(),
      id: '',
      _version: version,
    };
    return parent === null ? [announcement] : [...this.announce(parent), announcement];
  }

  private idOf(actor: AnyActorRef): string {
    let system = this.systems.get(actor.system);
    if (system === undefined) {
      this.count += 1;
      system = `session-${this.count}`;
      this.systems.set(actor.system, system);
    }
    return `${system}/${actor.sessionId}`;
  }

  private definitionOf(actor: AnyActorRef): string {
    const { logic } = actor as unknown as { logic: { config?: object } };
    const config = logic.config ?? { id: nameOf(actor) };
    const named = (_: string, value: unknown) =>
      typeof value === 'function' ? { type: value.name || 'inline' } : value;
    const known = this.definitions.get(config) ?? written(config, named);
    this.definitions.set(config, known);
    return known;
  }

  /** Returns a value as plain JSON with redacted and shortened texts, without the machine of a snapshot. */
  private tame<T>(value: T): T {
    const told = (_: string, inner: unknown) => (typeof inner === 'string' ? this.clean(inner) : inner);
    if (typeof value !== 'object' || value === null) return JSON.parse(written(value, told));
    // XState snapshots have a custom toJSON, which is bypassed here.
    const own = Object.entries(value).filter(([name]) => !['machine', '_nodes', 'children', 'toJSON'].includes(name));
    return JSON.parse(written(Object.fromEntries(own), told));
  }
}

/** Returns JSON, with substitutes for what JSON lacks, such as circular references: the inspected machine must not fail. */
function written(value: unknown, told: (name: string, inner: unknown) => unknown): string {
  try {
    return JSON.stringify(value, told) ?? 'null';
  } catch {
    return JSON.stringify(plainJson(value), told);
  }
}

/** Names an actor by its level: session > turn 2 > attempt 1 > model, tool.0 echo, toolCall.1 send; a root by its machine. */
function nameOf(actor: AnyActorRef): string {
  const { turn, attempt, request, name = request?.name } = inputOf(actor);
  if (parentOf(actor) === null) return (actor as { logic?: { id?: string } }).logic?.id ?? actor.id;
  if (actor.id === 'turn' && turn !== undefined) return `turn ${turn}`;
  if (actor.id === 'attempt' && attempt !== undefined) return `attempt ${attempt}`;
  return /^tool(Call)?\./.test(actor.id) && name !== undefined ? `${actor.id} ${name}` : actor.id;
}

function inputOf(actor: AnyActorRef): { turn?: number; attempt?: number; name?: string; request?: { name?: string } } {
  const { options } = actor as unknown as { options?: { input?: object } };
  return options?.input ?? {};
}

function parentOf(actor: AnyActorRef): AnyActorRef | null {
  return actor._parent ?? null;
}

function rootOf(actor: AnyActorRef): AnyActorRef {
  const parent = parentOf(actor);
  return parent === null ? actor : rootOf(parent);
}
