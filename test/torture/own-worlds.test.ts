import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { torture } from '../../src/torture/index.ts';
import { pawl } from '../support/pawl.ts';
import { loopIn } from './support/loop.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-worlds-'));
afterAll(() => rmSync(folder, { recursive: true }));
const loop = loopIn(folder);
const examples = join(import.meta.dirname, '../../examples/torture/worlds');

function written(files: Record<string, string>): string {
  const home = mkdtempSync(join(folder, 'home-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  return home;
}

/** A program that says what its world is, and counts calls. */
const counting = (tasks: object[]) => `
import { createInterface } from 'node:readline';
const databases = new Map();
const answers = {
  describe: () => (${JSON.stringify({
    name: 'counting',
    instructions: 'Count.',
    tools: [{ name: 'count', description: 'Counts.', inputSchema: { type: 'object', properties: {} } }],
    tasks,
  })}),
  begin: ({ begin }) => (databases.set(begin, 0), {}),
  call: ({ database, call }) => {
    if (call.name !== 'count') return { ok: false, error: 'there is no ' + call.name };
    databases.set(database, databases.get(database) + 1);
    return { ok: true, result: databases.get(database) };
  },
  hash: ({ database }) => ({ hash: String(databases.get(database)) }),
  end: ({ end }) => (databases.delete(end), {}),
};
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const kind = Object.keys(answers).find((name) => name in asked);
  console.log(JSON.stringify(answers[kind](asked)));
}
`;
const task = { id: 'once', prompt: 'Count once.', rounds: [[{ name: 'count', input: {} }]], answer: 'Counted.' };
const node = (file: string, ...args: string[]) =>
  [process.execPath, file, ...args].map((part) => `'${part}'`).join(' ');
const world = (text: string) => node(join(written({ 'world.mjs': text }), 'world.mjs'));

const judged = async (more: object) => {
  const { tasks } = await torture({ command: loop('plain'), rate: 0, ...more });
  return tasks.map(({ id, judgement, toolCalls }) => [id, judgement, toolCalls]);
};

describe('worlds of programs of their own', () => {
  it('are judged by their hash, and each task has a database of its own', async () => {
    const own = world(counting([task, { ...task, id: 'again' }]));
    expect(await judged({ world: own })).toEqual([
      ['once', 'right', 1],
      ['again', 'right', 1],
    ]);
    expect(await judged({ world: own, tasks: ['aga'] })).toEqual([['again', 'right', 1]]);
    const twice = loop('counts twice', "await call('count', '{}'); await call('count', '{}');");
    expect(await judged({ world: own, command: twice, tasks: ['once'] })).toEqual([['once', 'twice', 3]]);
    const lies = loop('lies', "await call('guess', '{}'); say('done', 'Counted.'); process.exit(0);");
    expect(await judged({ world: own, command: lies, tasks: ['once'] })).toEqual([['once', 'claimed', 1]]);
  });

  it.each([
    ['that does not start', 'no-such-program', 'ended (exit code 127)'],
    ['that says why it ends', node('-e', 'throw new Error("no data here")'), 'no data here'],
    ['that says no JSON', node('-e', 'console.log("hello"); setInterval(() => {}, 1000)'), 'answered no JSON: hello'],
    ['that says another thing', node('-e', 'console.log("{}"); setInterval(() => {}, 1000)'), 'name'],
  ])('a program %s is a mistake in the options', async (_, command, why) => {
    const error = await torture({ command: ['node'], world: command }).catch((one) => one);
    expect([error.code, error.message]).toEqual(['invalid_options', expect.stringContaining(why)]);
  });

  const broken = (kind: string, instead: string) =>
    world(
      counting([task]).replace(
        `console.log(JSON.stringify(answers[kind](asked)));`,
        `if (kind !== '${kind}') console.log(JSON.stringify(answers[kind](asked))); else { ${instead} }`,
      ),
    );

  it.each([
    ['dies at a call', broken('call', 'process.exit(3);'), /ended \(exit code 3\)/],
    ['never answers a call', broken('call', ''), /answered nothing to \{"database":3,"call":/],
    ['never says its hash', broken('hash', ''), /answered nothing to \{"database":1,"hash":true\}/],
    [
      'answers a call by something else',
      broken('call', 'console.log("{}");'),
      /\{ ok: true, result \} or \{ ok: false, error \}/,
    ],
    [
      'says more than it is asked',
      broken('begin', 'console.log("{}"); if (asked.begin === 2) console.log("{}");'),
      // Taken for the answer to the next question, or seen to be none.
      /said what it was not asked: \{\}|answers\.hash/,
    ],
    ['answers with noise', broken('hash', 'console.log("loading …");'), /answered no JSON: loading …/],
  ])('a program that %s ends the run, and says so', async (_, own, why) => {
    const error = await judged({ world: own, timeoutMs: 6_000 }).catch((one) => one);
    expect([error.code, error.message]).toEqual(['invalid_options', expect.stringMatching(why)]);
  });

  const twice = { ...task, rounds: [task.rounds[0], task.rounds[0]] };
  it.each([
    ['two tasks have the same id', counting([task, task]), "two tasks have the id 'once'"],
    ['a task has no calls', counting([{ ...task, rounds: [[]] }]), "the task 'once' has no calls"],
    ['a task wants the same call twice', counting([twice]), 'the task \'once\' has the same call twice: ["count",{}]'],
    [
      'its hash follows from nothing',
      counting([task]).replace('String(databases.get(database))', 'String(Math.random())'),
      'have different hashes',
    ],
    [
      'it refuses a call of its own',
      counting([{ ...task, rounds: [[{ name: 'guess', input: { a: 1 } }]] }]),
      'refuses a call of its own task once, guess {"a":1}: there is no guess',
    ],
    ['a task is too long to hand over', counting([{ ...task, prompt: 'a'.repeat(140_000) }]), 'The task once has 140'],
  ])('a world is refused if %s', async (_, text, why) => {
    const kept = join(folder, 'kept');
    rmSync(kept, { force: true });
    const keeps = `(await import('node:fs')).writeFileSync(${JSON.stringify(kept)}, task.state);`;
    const command = loop('says yes', `${keeps} say('done', 'Yes.'); process.exit(0);`);
    const error = await judged({ world: world(text), command }).catch((one) => one);
    expect([error.code, error.message]).toEqual(['invalid_options', expect.stringContaining(why)]);
    expect(existsSync(kept) && existsSync(readFileSync(kept, 'utf8'))).toBe(false);
  });

  it('an id that the world does not have is refused, with one that it has', async () => {
    const error = await judged({ world: world(counting([task])), tasks: ['bank'] }).catch((one) => one.message);
    expect(error).toContain("such as 'once', not 'bank'");
  });

  it('a signal ends a run that waits for its world, and one that is aborted begins nothing', async () => {
    const silent = node('-e', 'setInterval(() => {}, 1000)');
    const controller = new AbortController();
    const running = torture({ command: ['node'], world: silent, signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    await expect(torture({ command: ['node'], signal: controller.signal })).rejects.toThrow('enough');
  });

  it('pawl torture takes one', async () => {
    const own = world(counting([task]));
    const { code, stdout } = await pawl(['torture', '--world', own, '--rate', '0', '--', ...loop('plain')]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^1 tasks of `[\s\S]* 1 {2}right: the world is as it should be/),
    ]);
  });

  it.each([
    ['airline', 'TASKS'],
    ['retail', 'TASKS_TEST'],
  ])('tau-bench: a directory of its shape, %s', async (domain, tasks) => {
    const home = written({
      'tau_bench/__init__.py': '',
      'tau_bench/envs/__init__.py': '',
      [`tau_bench/envs/${domain}/__init__.py`]: '',
      [`tau_bench/envs/${domain}/wiki.py`]: 'WIKI = "You book seats."',
      [`tau_bench/envs/${domain}/data/__init__.py`]:
        'def load_data():\n    return {"seats": {"1A": None, "1B": None}}\n',
      [`tau_bench/envs/${domain}/tools/__init__.py`]: `
class Book:
    @staticmethod
    def invoke(data, seat, name):
        if seat not in data["seats"]:
            return "Error: seat not found"
        data["seats"][seat] = name
        return "booked"
    @staticmethod
    def get_info():
        properties = {"seat": {"type": "string"}, "name": {"type": "string"}}
        parameters = {"type": "object", "properties": properties, "required": ["seat", "name"]}
        return {"type": "function", "function": {"name": "book", "description": "Books.", "parameters": parameters}}
ALL_TOOLS = [Book]
`,
      [`tau_bench/envs/${domain}/tasks_test.py`]: `
from types import SimpleNamespace as Some
def book(**kwargs): return Some(name="book", kwargs=kwargs)
${tasks} = [
    Some(instruction="Book 1A and 1B.", actions=[book(seat="1A", name="Ada"), book(seat="1B", name="Ben")], outputs=["2"]),
    Some(instruction="Book 9Z, else 1A.", actions=[book(seat="9Z", name="Cid"), book(seat="1A", name="Cid")], outputs=[]),
    Some(instruction="Say hello.", actions=[Some(name="respond", kwargs={"content": "hello"})], outputs=[]),
]
`,
    });
    expect(await judged({ world: `python3 '${join(examples, 'tau-bench.py')}' '${home}' ${domain}` })).toEqual([
      [`${domain}-000`, 'right', 2],
      [`${domain}-001`, 'right', 1],
    ]);
  });

  it('BFCL: a folder of its shape', async () => {
    const parameters = {
      type: 'dict',
      properties: {
        artist: { type: 'string' },
        minutes: { type: 'float' },
        tags: { type: 'tuple', items: {} },
        meta: { type: 'dict' },
      },
      required: ['artist'],
    };
    const question = [[{ role: 'user', content: 'Play two songs.' }]];
    const functions = [{ name: 'music.play', description: 'Plays.', parameters }];
    const songs = [
      { 'music.play': { artist: ['Ella', 'Ella F.'], minutes: [3.5], tags: ['', ['jazz']] } },
      { 'music.play': { artist: ['Nina'], minutes: ['', 2], tags: [['a', 'b']] } },
      { 'music.play': { artist: ['Bill'], meta: [{ format: 'wav', rate: [44] }] } },
    ];
    const home = written({
      'BFCL_v4_parallel.json': `${JSON.stringify({ id: 'parallel_0', question, function: functions })}\n`,
      'possible_answer/BFCL_v4_parallel.json': `${JSON.stringify({ id: 'parallel_0', ground_truth: songs })}\n`,
    });
    expect(await judged({ world: node(join(examples, 'bfcl.js'), home, 'parallel') })).toEqual([
      ['parallel_0', 'right', 3],
    ]);
    const missing = await judged({ world: node(join(examples, 'bfcl.js'), home, 'simple') }).catch(
      (one) => one.message,
    );
    expect(missing).toContain('has no BFCL_v…_simple.json');
  });
});
