/**
 * The Berkeley Function Calling Leaderboard as a world of `pawl torture`: node bfcl.js DATA CATEGORY…
 * DATA is its folder of questions, with `possible_answer` in it; a category is such as `parallel` or `simple_python`.
 * Its functions do nothing, so the judge is the list of calls: each once, in any order.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [data = '', ...categories] = process.argv.slice(2);

function linesOf(folder, category) {
  const file = readdirSync(folder).findLast((name) => new RegExp(`^BFCL_v\\d+_${category}\\.json$`).test(name));
  if (file === undefined) throw new Error(`${folder} has no BFCL_v…_${category}.json`);
  return readFileSync(join(folder, file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

// Names of tools have no dots.
const named = (name) => name.replaceAll('.', '_');
const types = { dict: 'object', float: 'number', tuple: 'array' };

/** Its schemas have types of Python. */
function schemaOf(schema) {
  const { type, properties, items, optional: _, ...rest } = schema;
  return {
    ...rest,
    ...(type !== 'any' && type !== undefined && { type: types[type] ?? type }),
    ...(items !== undefined && { items: schemaOf(items) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, schemaOf(one)])),
    }),
  };
}

/** The first of each field's possible values; "" means that it may be left out. */
function inputOf(possible) {
  const chosen = Object.entries(possible).map(([name, values]) => [
    name,
    Array.isArray(values) ? values.find((value) => value !== '') : values,
  ]);
  return Object.fromEntries(chosen.flatMap(([name, value]) => (value === undefined ? [] : [[name, valueIn(value)]])));
}
function valueIn(value) {
  if (Array.isArray(value)) return value.map(valueIn);
  return typeof value === 'object' && value !== null ? inputOf(value) : value;
}

const tasks = categories.flatMap((category) => {
  const answers = new Map(linesOf(join(data, 'possible_answer'), category).map((line) => [line.id, line.ground_truth]));
  return linesOf(data, category).map(({ id, question, function: functions }) => ({
    id,
    prompt: question
      .flat()
      .map(({ content }) => content)
      .join('\n'),
    // One call that is wanted twice cannot be told from one that was made twice.
    rounds: [
      [
        ...new Map(
          answers
            .get(id)
            .flatMap(callsOf)
            .map((call) => [JSON.stringify(call), call]),
        ).values(),
      ],
    ],
    answer: 'Done.',
    tools: functions.map(({ name, description, parameters }) => ({
      name: named(name),
      description,
      inputSchema: schemaOf(parameters),
    })),
  }));
});

function callsOf(call) {
  return Object.entries(call).map(([name, possible]) => ({ name: named(name), input: inputOf(possible) }));
}

const databases = new Map();
const answerTo = ({ describe, begin, end, database, call }) => {
  if (describe) return { name: 'bfcl', instructions: 'Call the functions that answer the question.', tools: [], tasks };
  if (begin !== undefined) databases.set(begin, []);
  else if (end !== undefined) databases.delete(end);
  else if (call !== undefined) return { ok: true, result: databases.get(database).push(JSON.stringify(call)) };
  else return { hash: createHash('sha256').update(databases.get(database).toSorted().join('\n')).digest('hex') };
  return {};
};
for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(answerTo(JSON.parse(line))));
