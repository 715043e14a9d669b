import { createServer } from 'node:net';
import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type { AnyActorRef, AnyEventObject, InspectionEvent } from 'xstate';
import { messageOf, PawlError, shown } from '../errors.ts';
import { redact } from '../observe/redact.ts';

export type StatelyInspectorOptions = {
  /** Of the relay, in Node; default 8080. */
  port?: number;
  /** Secrets to take out of what is sent, beside those that are known by their shape. */
  secrets?: readonly string[];
  /** Characters of a text that are sent; default 200. */
  textLength?: number;
};

export type StatelyInspector = {
  /** To be given to `startSession` as its `inspect`; any number of sessions. */
  readonly inspect: (event: InspectionEvent) => void;
  /** Where the inspector is to be opened; null in a browser, which opens it by itself. */
  readonly address: string | null;
  stop(): void;
};

type Sender = { send(event: StatelyInspectionEvent): void; stop(): void };

const version = '0.7.2';
const defaultPort = 8_080;

/**
 * The Stately inspector, by `@statelyai/inspect`: in a browser its window, in Node its WebSocket relay on this machine, whose
 * page shows the sessions as hierarchies of actors. Nothing is sent before this is called. Rejects with `invalid_options` for a
 * port that is taken.
 */
export async function statelyInspector(options: StatelyInspectorOptions = {}): Promise<StatelyInspector> {
  const { port = defaultPort, secrets = [], textLength = 200 } = options;
  const isBrowser = 'document' in globalThis;
  const sender = isBrowser ? await browserSender() : await relaySender(port);
  const translator = new Translator((text) => {
    const clean = redact(text, secrets);
    return clean.length > textLength ? `${clean.slice(0, textLength)}… (${clean.length} characters)` : clean;
  });
  return {
    inspect: (event) => {
      for (const translated of translator.translate(event)) sender.send(translated);
    },
    address: isBrowser ? null : `http://localhost:${port}`,
    stop: () => sender.stop(),
  };
}

async function browserSender(): Promise<Sender> {
  const { createBrowserInspector } = await loaded(() => import('@statelyai/inspect'));
  const inspector = createBrowserInspector();
  return { send: (event) => inspector.adapter.send(event), stop: () => inspector.stop() };
}

async function relaySender(port: number): Promise<Sender> {
  const { createWebSocketInspector } = await loaded(() => import('@statelyai/inspect'));
  const { createInspectorServer } = await loaded(() => import('@statelyai/inspect/server'));
  await checkPort(port);
  const relay = createInspectorServer({ port, autoOpen: false });
  const inspector = createWebSocketInspector({ url: `ws://localhost:${port}` });
  await connected(inspector.adapter);
  return {
    send: (event) => inspector.adapter.send(event),
    stop: () => {
      inspector.stop();
      relay.stop();
    },
  };
}

/** One that is stopped before it is connected would try again for ever. */
async function connected(adapter: object): Promise<void> {
  const socket: unknown = Reflect.get(adapter, 'ws');
  if (!(typeof socket === 'object' && socket !== null && 'addEventListener' in socket)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const type of ['open', 'error']) (socket as EventTarget).addEventListener(type, () => resolve(), { once: true });
  await promise;
}

async function loaded<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new PawlError(
      'invalid_options',
      `The package @statelyai/inspect could not be loaded (${messageOf(cause)}): install it.`,
      { cause },
    );
  }
}

/** The relay itself would end the process over a port that is taken. */
async function checkPort(port: number): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: Error) =>
      reject(new PawlError('invalid_options', `port is ${shown(port)}: a free port is needed (${messageOf(error)}).`));
    probe.once('error', refuse);
    try {
      probe.listen(port, () => probe.close(() => resolve()));
    } catch (error) {
      refuse(error instanceof Error ? error : new Error(messageOf(error)));
    }
  });
}

/**
 * Turns inspection events of XState into those of the inspector. Actors get names that read as the hierarchy, and ids that are
 * unique over all sessions; an actor is announced when its first snapshot is there; bodies are cut, and secrets removed (S-5).
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
    const known =
      this.definitions.get(config) ??
      JSON.stringify(config, (_, value) => (typeof value === 'function' ? { type: value.name || 'inline' } : value));
    this.definitions.set(config, known);
    return known;
  }

  /** A value as plain JSON whose texts are clean and short, without the machine that a snapshot belongs to. */
  private tame<T>(value: T): T {
    const told = (key: string, inner: unknown) => {
      if (key === 'machine' || key === '_nodes' || key === 'children') return undefined;
      return typeof inner === 'string' ? this.clean(inner) : inner;
    };
    // Snapshots of XState write themselves down in a way of their own.
    const own = typeof value === 'object' && value !== null ? { ...value, toJSON: undefined } : value;
    const tamed: T = JSON.parse(JSON.stringify(own, told) ?? 'null');
    return tamed;
  }
}

/** Session > turn 2 > attempt 1 > model, tool.0 echo. */
function nameOf(actor: AnyActorRef): string {
  const { turn, attempt, name } = inputOf(actor);
  if (parentOf(actor) === null) return 'session';
  if (actor.id === 'turn') return `turn ${turn}`;
  if (actor.id === 'attempt') return `attempt ${attempt}`;
  return actor.id.startsWith('tool.') ? `${actor.id} ${name}` : actor.id;
}

function inputOf(actor: AnyActorRef): { turn?: number; attempt?: number; name?: string } {
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
