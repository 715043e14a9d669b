import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../machines/index.ts';
import { canonical, Refused, type Task, type World, type WorldDatabase } from './world.ts';

export type SmallWorldTool<Data> = {
  description: string;
  /** The fields of its input, all required, by name. */
  input: Record<string, 'string' | 'integer'>;
  /** Reads or changes the database. Throws `Refused`. */
  run(database: Data, input: JsonObject): Json;
};

/** A world in memory: its database at first, its tools, and what people ask for in it. */
export type SmallWorld<Data = unknown> = {
  name: string;
  instructions: string;
  begin(): Data;
  tools: Record<string, SmallWorldTool<Data>>;
  tasks: readonly Task[];
};

/** Returns a world whose tools read and change a value. */
export function smallWorld<Data>({ name, instructions, begin, tools, tasks }: SmallWorld<Data>): World {
  return {
    ...{ name, instructions, tasks },
    tools: Object.entries(tools).map(([tool, { description, input }]) => ({
      ...{ name: tool, description, inputSchema: schemaOf(input) },
    })),
    begin: () => inMemory(begin(), tools),
  };
}

function inMemory<Data>(data: Data, tools: Record<string, SmallWorldTool<Data>>): WorldDatabase {
  return {
    async call(name, input) {
      const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
      if (tool === undefined) throw new Refused(`there is no tool ${name}`);
      return tool.run(data, checked(tool.input, input));
    },
    // Calls may be made at once, so the order of fields and lists does not count.
    hash: async () =>
      createHash('sha256')
        .update(canonical(unordered(data)))
        .digest('hex'),
    close: async () => {},
  };
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

/** The schema of a tool's input, as models are shown it. */
function schemaOf(input: SmallWorldTool<never>['input']): JsonObject {
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
