import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../machines/index.ts';

/** What a tool of a world refuses: it has no effect. */
export class Refused extends Error {}

export type WorldTool<Database> = {
  description: string;
  /** The fields of its input, all required, by name. */
  input: Record<string, 'string' | 'integer'>;
  /** Reads or changes the database. Throws `Refused`. */
  run(database: Database, input: JsonObject): Json;
};

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
};

/** A small world: its database at first, its tools, and what people ask for in it. */
export type World<Database = unknown> = {
  name: string;
  instructions: string;
  begin(): Database;
  tools: Record<string, WorldTool<Database>>;
  tasks: readonly Task[];
};

/** A call that reached a tool. `error`: why it was refused. `isEffect`: whether it changed anything. */
export type LedgerLine = { name: string; input: JsonObject; error: string | null; isEffect: boolean };

/** A world in which calls have been made. */
export class LivedWorld {
  private readonly world: World;
  private readonly database: unknown;
  readonly ledger: LedgerLine[] = [];

  constructor(world: World) {
    this.world = world;
    this.database = world.begin();
  }

  /** Makes a call, as it comes over the wire. Throws `Refused`. */
  call(name: string, input: unknown): Json {
    const tool = Object.hasOwn(this.world.tools, name) ? this.world.tools[name] : undefined;
    if (tool === undefined) throw new Refused(`there is no tool ${name}`);
    const given = checked(tool.input, input);
    const before = this.hash();
    try {
      const output = tool.run(this.database, given);
      this.ledger.push({ name, input: given, error: null, isEffect: this.hash() !== before });
      return output;
    } catch (error) {
      if (error instanceof Refused) this.ledger.push({ name, input: given, error: error.message, isEffect: false });
      throw error;
    }
  }

  /** The state of the database. Calls may be made at once, so the order of fields and lists does not count. */
  hash(): string {
    return createHash('sha256')
      .update(canonical(unordered(this.database)))
      .digest('hex');
  }
}

/** The world after a task was carried out as it should be. */
export function goldWorld(world: World, { rounds }: Task): LivedWorld {
  const lived = new LivedWorld(world);
  for (const { name, input } of rounds.flat()) lived.call(name, input);
  return lived;
}

function checked(fields: Record<string, 'string' | 'integer'>, input: unknown): JsonObject {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw new Refused('the input is no object');
  const given = input as JsonObject;
  for (const [name, type] of Object.entries(fields)) {
    const value = given[name];
    if (type === 'string' ? typeof value !== 'string' : !Number.isSafeInteger(value))
      throw new Refused(`${name} must be ${type === 'string' ? 'a string' : 'an integer'}`);
  }
  const foreign = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
  if (foreign !== undefined) throw new Refused(`${foreign} is not a field`);
  return given;
}

function unordered(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(unordered).sort((one, other) => (canonical(one) < canonical(other) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, unordered(one)]));
}

/** JSON whose fields are in the order of their names. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([left], [right]) => (left < right ? -1 : 1)))
      : one,
  );
}

/** The schema of a tool's input, as models are shown it. */
export function inputSchema({ input }: WorldTool<never>): JsonObject {
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(input).map(([name, type]) => [name, { type }])),
    required: Object.keys(input),
    additionalProperties: false,
  };
}

/** Returns what is asked for by its id. Throws `Refused`. */
export function recordOf<Value>(kind: string, of: Record<string, Value>, id: unknown): Value {
  const found = Object.hasOwn(of, String(id)) ? of[String(id)] : undefined;
  if (found === undefined) throw new Refused(`there is no ${kind} ${id}`);
  return found;
}

/** Numbers the tasks of a world, from 1 on, with two digits. */
export function numbered(world: string, tasks: readonly Omit<Task, 'id'>[]): Task[] {
  return tasks.map((task, index) => ({ id: `${world}-${String(index + 1).padStart(2, '0')}`, ...task }));
}
