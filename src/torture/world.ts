import type { Json, JsonObject } from '../../machines/index.ts';
import { PawlError } from '../input/errors.ts';
import { inOrder } from '../platform/plain-json.ts';
import { oneAtATime } from '../platform/promises.ts';

/** What a tool of a world refuses: it has no effect. */
export class Refused extends Error {}

/** A tool as models are shown it. */
export type WorldTool = { name: string; description: string; inputSchema: JsonObject };

/** Calls that may be made at once; those of the next round need their results. */
export type Round = readonly { name: string; input: JsonObject }[];

export type Task = {
  /** Such as `bank-07`. */
  id: string;
  prompt: string;
  /** The calls that carry it out, in their rounds. */
  rounds: readonly Round[];
  /** What there is to say at the end. */
  answer: string;
  /** The tools that are offered in this task. Default: those of its world. */
  tools?: readonly WorldTool[] | undefined;
};

/** A place where calls have effects. */
export type WorldDatabase = {
  /** Makes a call, as it comes over the wire. Rejects with `Refused`, and then has changed nothing. */
  call(name: string, input: unknown): Promise<Json>;
  /** Its state: two databases that are alike have the same. */
  hash(): Promise<string>;
  close(): Promise<void>;
};

/** A place for tasks: its tools, the tasks, and a fresh database for each of them. */
export type World = {
  name: string;
  instructions: string;
  tools: readonly WorldTool[];
  tasks: readonly Task[];
  begin(): WorldDatabase;
};

/** A call that reached a tool. `error`: why it was refused. `isEffect`: whether it changed anything. */
export type LedgerLine = { name: string; input: JsonObject; error: string | null; isEffect: boolean };

/** A world in which calls have been made, one after the other. */
export class LivedWorld {
  private readonly database: WorldDatabase;
  private readonly inTurn = oneAtATime();
  private state: string | null = null;
  readonly ledger: LedgerLine[] = [];

  constructor(world: World) {
    this.database = world.begin();
  }

  /** Makes a call, as it comes over the wire. Rejects with `Refused`. */
  call(name: string, input: unknown): Promise<Json> {
    return this.inTurn(() => this.made(name, input));
  }

  private async made(name: string, input: unknown): Promise<Json> {
    const line = (error: string | null, isEffect: boolean) =>
      this.ledger.push({ name, input: input as JsonObject, error, isEffect });
    this.state ??= await this.database.hash();
    const before = this.state;
    try {
      const output = await this.database.call(name, input);
      this.state = await this.database.hash();
      line(null, this.state !== before);
      return output;
    } catch (error) {
      if (error instanceof Refused) line(error.message, false);
      throw error;
    }
  }

  hash(): Promise<string> {
    return this.database.hash();
  }

  close(): Promise<void> {
    return this.database.close();
  }
}

/** Makes a task's calls. Rejects with `invalid_options` if the world refuses one, since the task is then impossible. */
export async function carryOut({ id, rounds }: Task, lived: LivedWorld): Promise<void> {
  for (const { name, input } of rounds.flat()) {
    try {
      await lived.call(name, input);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const call = `${name} ${JSON.stringify(input)}`;
      throw new PawlError(
        'invalid_options',
        `The world refuses a call of its own task ${id}, ${call}: ${error.message}`,
      );
    }
  }
}

/** JSON whose fields are in the order of their names. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, inOrder);
}
