import type { Witness } from './agent.ts';
import { secret } from './model.ts';
import type { Relay } from './processes.ts';
import { SimulatedTransport } from './server.ts';
import type { Life, World } from './world.ts';

/** The simulated server in one process. */
export class ProcessServer {
  private readonly world: World;
  private readonly relay: Relay;
  private readonly session: SimulatedTransport;
  private readonly life: Life;
  /** What came before the server has started. */
  private early: string[] | null = [];

  constructor(world: World, life: Life, witness: Witness, relay: Relay) {
    this.world = world;
    this.life = life;
    this.relay = relay;
    this.session = new SimulatedTransport(world, life, witness);
  }

  async begin(): Promise<void> {
    const { relay, session, life } = this;
    relay.onLine = (line) => {
      if (this.early === null) this.take(line);
      else this.early.push(line);
    };
    relay.onEnd = () => this.leave('exits');
    life.connections.add(session);
    // All is decided here, since no seed decides which of two processes is faster.
    await life.turn('the server starts');
    const { choices } = this.world;
    const exits = choices.pick<number | 'SIGKILL'>([1, 0, 'SIGKILL']);
    const leaves = choices.weighed({ exits: 85, 'ignores the end of its input': 8, 'ignores SIGTERM': 7 });
    const leavesChild = choices.chance(15);
    const endsByItself = choices.chance(15);
    session.onmessage = (message) => this.say(JSON.stringify(message));
    // It dies, or with the process that started it.
    session.onclose = () => relay.order(exits === 'SIGKILL' ? { exits } : { shouts: `it died of ${secret}\n`, exits });
    relay.onEnd = () => this.leave(leaves);
    try {
      await session.start();
    } catch {
      relay.order({ shouts: `no such server ${secret}\n`, exits: 1 });
      return;
    }
    if (leavesChild) {
      this.trouble('leaves a child behind');
      relay.order({ leaves: 'a child' });
    }
    if (endsByItself) {
      life.task('the process of the server ends', () => {
        this.trouble('ends by itself');
        void session.die();
      });
    }
    const { early } = this;
    this.early = null;
    for (const line of early ?? []) this.take(line);
  }

  private take(line: string): void {
    // A server that is gone hears nothing.
    void this.session.send(JSON.parse(line)).catch(() => {});
  }

  /** Its input has ended: it exits, or not. */
  private leave(kind: 'exits' | 'ignores the end of its input' | 'ignores SIGTERM'): void {
    const { relay, session, life } = this;
    if (!life.connections.delete(session)) return;
    relay.endingAt ??= Date.now();
    if (kind === 'exits') relay.order({ exits: 0 });
    else this.trouble(kind);
    if (kind === 'ignores SIGTERM') relay.order({ ignores: 'SIGTERM' });
  }

  /** Writes a line, or with something else around it. */
  private say(line: string): void {
    const { world, relay } = this;
    const kind = world.choices.weighed({ plain: 90, 'says what is no message': 3, 'says two lines at once': 4 });
    if (kind !== 'plain') this.trouble(kind);
    if (kind === 'plain') relay.order({ says: `${line}\n` });
    else if (kind === 'says two lines at once') relay.order({ says: `\n${line}\n`, shouts: `${secret}\n` });
    else relay.order({ says: `Listening with ${secret}\n${line}\n` });
  }

  private trouble(kind: string): void {
    this.world.trouble(`a server ${kind}`);
  }
}
