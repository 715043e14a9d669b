import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { McpServerConfig } from '../../src/index.ts';
import { isRunning } from '../support/processes.ts';
import type { Witness } from './agent.ts';
import { secret } from './model.ts';
import { ProcessServer } from './process-server.ts';
import type { Life, World } from './world.ts';

/** What a process reports: see `relay.mjs`. */
type Report = { key?: string; pid?: number; line?: string; ended?: true; left?: number; synced?: number };

type Order = {
  says?: string;
  shouts?: string;
  exits?: number | 'SIGKILL';
  ignores?: 'SIGTERM';
  leaves?: 'a child';
  sync?: number;
};

/** How often all must be found quiet in a row. */
const quietRounds = 2;

/** How long a process may take to start, in ms of real time. */
const startMs = 20_000;

/** How long a process may take to end, once it has to, in ms of real time: longer than it is given. */
const endMs = 2_500;

/** How long after a process ended its last words may still come, in ms of real time. */
const lastWordsMs = 80;

/** Real processes of simulated MCP servers. Each is a relay: the world decides what it writes, and how it ends. */
export class Processes {
  private readonly server = createServer((socket) => this.connected(socket));
  private readonly makers = new Map<string, (relay: Relay) => void>();
  readonly relays = new Set<Relay>();
  /** All processes of a session, and those that they started. */
  private readonly started: { pid: number; life: Life }[] = [];
  private happened = 0;
  /** What is on its way to or from the processes. */
  private readonly underWay: (() => void)[] = [];
  /** When a process last ended (epoch ms, of real time). */
  private endedAt = 0;

  static async open(): Promise<Processes> {
    const processes = new Processes();
    await new Promise<void>((resolve) => processes.server.listen(0, '127.0.0.1', resolve));
    return processes;
  }

  /** Returns how a session starts the simulated server. */
  serve(world: World, witness: Witness): McpServerConfig {
    const key = `p${this.makers.size}`;
    const { life } = world;
    this.makers.set(key, (relay) => {
      relay.onPid = (pid) => this.started.push({ pid, life });
      void new ProcessServer(world, life, witness, relay).begin();
    });
    const { port } = this.server.address() as AddressInfo;
    const isMissing = world.choices.chance(3);
    if (isMissing) world.trouble('a server has no program');
    const command = isMissing ? '/no/such/program' : process.execPath;
    const program = join(import.meta.dirname, 'relay.mjs');
    return { command, args: [program, String(port), key], env: { PAWL_KEY: secret } };
  }

  /**
   * Resolves once all processes have started or ended, and nothing is under way between them and this one. Each message
   * arrives when everything that follows from the one before has happened, since no seed decides which is faster.
   */
  async quiet(): Promise<void> {
    const until = Date.now() + startMs;
    for (let calm = 0; calm < quietRounds; ) {
      const before = this.happened;
      await someTurns();
      this.underWay.shift()?.();
      await Promise.all([...this.relays].map((relay) => relay.synced()));
      await someTurns();
      if (this.isBusy) {
        if (Date.now() > until) throw new Error('a process of a simulated server does not start');
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      calm = this.happened === before && !this.isBusy ? calm + 1 : 0;
    }
  }

  /** Resolves with the number of processes of a life that do not end by themselves. */
  async left(life: Life): Promise<number> {
    const alive = () => this.started.filter((one) => one.life === life && isRunning(one.pid)).length;
    // What was killed takes a moment to end.
    const until = Date.now() + 1_000;
    while (alive() > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 1));
    return alive();
  }

  /** Ends all processes of a session that is over. */
  async clear(): Promise<void> {
    this.makers.clear();
    for (const { pid } of this.started) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    this.started.length = 0;
    await this.quiet();
  }

  async close(): Promise<void> {
    await this.clear();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** From now on, this is under way. */
  send(arrive: () => void): void {
    this.happened += 1;
    this.underWay.push(arrive);
  }

  ended(relay: Relay): void {
    this.relays.delete(relay);
    this.endedAt = Date.now();
  }

  private get isBusy(): boolean {
    const started = process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
    const now = Date.now();
    const isEnding = [...this.relays].some(({ endingAt }) => endingAt !== null && now < endingAt + endMs);
    return this.underWay.length > 0 || isEnding || now < this.endedAt + lastWordsMs || started !== this.relays.size;
  }

  private connected(socket: Socket): void {
    this.happened += 1;
    const relay = new Relay(socket, this);
    relay.onKey = (key) => {
      const make = this.makers.get(key);
      if (make === undefined) relay.order({ exits: 'SIGKILL' });
      else make(relay);
    };
  }
}

/** The simulation's end of one process. */
export class Relay {
  onKey: (key: string) => void = () => {};
  onPid: (pid: number) => void = () => {};
  onLine: (line: string) => void = () => {};
  onEnd: () => void = () => {};
  /** Since when it has to end: it was told to exit, or its input has ended (epoch ms, of real time). */
  endingAt: number | null = null;
  private readonly socket: Socket;
  private readonly processes: Processes;
  private readonly waiting = new Map<number, () => void>();
  private count = 0;

  constructor(socket: Socket, processes: Processes) {
    this.socket = socket;
    this.processes = processes;
    socket.on('error', () => {});
    socket.on('close', () => {
      processes.ended(this);
      for (const resolve of this.waiting.values()) resolve();
      processes.send(() => this.onEnd());
    });
    const lines = createInterface(socket);
    lines.on('error', () => {});
    lines.on('line', (text) => {
      const { key, pid, line, ended, left, synced }: Report = JSON.parse(text);
      if (synced !== undefined) this.waiting.get(synced)?.();
      if (key !== undefined) {
        processes.relays.add(this);
        this.onKey(key);
      }
      if (pid !== undefined) this.onPid(pid);
      if (left !== undefined) this.onPid(left);
      if (line !== undefined) processes.send(() => this.onLine(line));
      if (ended !== undefined) processes.send(() => this.onEnd());
    });
  }

  order(order: Order): void {
    this.processes.send(() => {
      if (order.exits !== undefined) this.endingAt ??= Date.now();
      this.write(order);
    });
  }

  private write(order: Order): void {
    this.socket.write(`${JSON.stringify(order)}\n`);
  }

  /** Resolves when the process has passed on what it was sent, or has ended. */
  synced(): Promise<void> {
    this.count += 1;
    const number = this.count;
    return new Promise((resolve) => {
      this.waiting.set(number, () => {
        this.waiting.delete(number);
        resolve();
      });
      this.write({ sync: number });
    });
  }
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
}
