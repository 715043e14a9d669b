/** A session on the machines themselves, in this page, beside a plain loop on the same wire. */
import type { SessionEvent } from '../../src/index.ts';
import { defineAgent, resumeSession, type Session, startSession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/rehearsal-model.ts';
import { mortal } from './journal.ts';
import { type Line, plainLoop } from './plain-loop.ts';
import { answer, type Fault, faults, prompt, replyTo, World } from './wire.ts';

/** How long a model takes, in ms; and how long the lease of a process that died lasts. */
const thinkMs = 900;
const leaseMs = 1_500;
const limits = { maxTurns: 5, maxRetries: 3 };
const bound = limits.maxTurns * limits.maxRetries;

const element = (id: string) => document.getElementById(id) as HTMLElement;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** One of the two columns: its lines with their bars, what it has done, and how it ended. */
class Column {
  private readonly root: HTMLElement;
  private readonly lines: Line[] = [];
  private readonly begun = performance.now();

  constructor(id: string) {
    this.root = element(id);
    this.root.querySelector('ol')?.replaceChildren();
    this.status('running', 'running');
  }

  add(line: Line): void {
    this.lines.push(line);
    const item = document.createElement('li');
    item.className = line.how;
    const bar = document.createElement('i');
    bar.dataset.from = String(line.from - this.begun);
    bar.dataset.to = String(line.to - this.begun);
    const text = document.createElement('span');
    text.textContent = line.text;
    item.append(text, bar);
    this.root.querySelector('ol')?.append(item);
    const whole = Math.max(1, performance.now() - this.begun);
    for (const one of this.root.querySelectorAll<HTMLElement>('li i')) {
      const [from, to] = [Number(one.dataset.from), Number(one.dataset.to)];
      one.style.marginLeft = `${(100 * from) / whole}%`;
      one.style.width = `${Math.max(0.5, (100 * (to - from)) / whole)}%`;
    }
  }

  world(world: World): void {
    const list = [...world.done].map(([what, count]) => `${what}: ${count}`).join(', ') || 'nothing done yet';
    const place = this.root.querySelector('.world') as HTMLElement;
    place.textContent = list;
    place.classList.toggle(
      'wrong',
      [...world.done.values()].some((count) => count > 1),
    );
  }

  status(text: string, how: string): void {
    const place = this.root.querySelector('.status') as HTMLElement;
    place.textContent = text;
    place.className = `status ${how}`;
  }
}

/** What the buttons ask for; each loop takes a fault once. */
let queue = { pawl: [] as Fault[], plain: [] as Fault[] };
let kill = () => {};
/** The number of the run: a loop of an earlier one says nothing more. */
let run = 0;

async function begin(): Promise<void> {
  run += 1;
  const own = run;
  queue = { pawl: [], plain: [] };
  element('again').hidden = true;
  for (const button of document.querySelectorAll<HTMLButtonElement>('#faults button')) button.disabled = false;
  const kills: (() => void)[] = [];
  kill = () => {
    for (const one of kills) one();
  };
  await Promise.allSettled([withPawl(own, kills), withPlainLoop(own, kills)]);
  if (own !== run) return;
  for (const button of document.querySelectorAll<HTMLButtonElement>('#faults button')) button.disabled = true;
  element('again').hidden = false;
}

async function withPawl(own: number, kills: (() => void)[]): Promise<void> {
  const column = new Column('pawl');
  const world = new World();
  column.world(world);
  const bar = element('bound');
  bar.replaceChildren(...Array.from({ length: bound }, () => document.createElement('b')));
  const model = rehearsalModel(async ({ prompt: messages }): Promise<RehearsedReply> => {
    await pause(thinkMs);
    const answered = messages.flatMap((message) =>
      message.role === 'tool'
        ? message.content.flatMap((part) =>
            part.type === 'tool-result' && JSON.stringify(part.output).includes('ok') ? [part.toolName] : [],
          )
        : [],
    );
    const { text, calls, fault } = replyTo(answered, queue.pawl.shift() ?? null);
    if (fault === '429') return { throws: Object.assign(new Error('429 Too Many Requests'), { statusCode: 429 }) };
    if (fault === 'cut') return { text: 'I have', cut: true };
    if (text === answer) return { calls: [{ name: 'final_report', input: { content: answer } }] };
    return { ...(text !== undefined && { text }), ...(calls !== undefined && { calls }) };
  });
  const tools = Object.fromEntries(
    Object.entries(world.tools).map(([name, act]) => [
      name,
      () => {
        const result = act();
        column.world(world);
        return result;
      },
    ]),
  );
  const agent = defineAgent({ name: 'host', models: [model], tools, limits, settings: { streaming: true } });
  const store = new MemoryJournal({ leaseMs });
  let process = mortal(store);
  let from = performance.now();
  let seen = 0;
  const show = (event: SessionEvent) => {
    // A session that was resumed tells what came before, too.
    if (own !== run || event.seq <= seen) return;
    seen = event.seq;
    if (event.type === 'attempt.started') {
      from = performance.now();
      const sent = [...bar.children].filter((one) => one.className !== '').length;
      const box = bar.children[sent];
      if (box !== undefined) box.className = 'sent';
      element('count').textContent = `${sent + 1} of ${bound} requests`;
    }
    const told = textOf(event);
    if (told !== null) column.add({ ...told, from, to: performance.now() });
  };
  /** Whether the process of a life was killed, however far it had come. */
  const killed = (mine: ReturnType<typeof mortal>) =>
    new Promise<'killed'>((resolve) => {
      kills.push(() => {
        mine.kill();
        resolve('killed');
      });
    });
  const follow = async (mine: ReturnType<typeof mortal>, session: Session | Promise<Session>) => {
    const isLatest = () => mine === process;
    const ended = (async () => {
      const begun = await session;
      void (async () => {
        for await (const event of begun.events) {
          if (!isLatest()) return;
          show(event);
        }
      })();
      return begun.result;
    })();
    return Promise.race([ended, killed(mine)]);
  };
  const options = { logger: false as const, sessionId: `session-${own}` };
  let ended = await follow(process, startSession(agent, { ...options, prompt, journal: process.journal }));
  while (ended === 'killed') {
    column.add({
      text: 'killed; another process takes over when the lease is over',
      how: 'note',
      from,
      to: performance.now(),
    });
    await pause(leaseMs + 100);
    process = mortal(store);
    ended = await follow(process, resumeSession(agent, { ...options, journal: process.journal }));
  }
  if (own !== run) return;
  const { success, slugs, report } = ended;
  column.add({
    text: success ? `report: “${report.content}”` : slugs.join(', '),
    how: success ? 'done' : 'failed',
    from,
    to: performance.now(),
  });
  column.status(...verdictOf(success, world));
}

/** What is told of an event; null for one that is not. */
function textOf(event: SessionEvent): Pick<Line, 'text' | 'how'> | null {
  switch (event.type) {
    case 'attempt.failed':
      return { text: `turn ${event.turn}, attempt ${event.attempt}: ${event.slugs.join(', ')}`, how: 'failed' };
    case 'tool.answered':
      return event.executed ? { text: `${event.name}: done`, how: 'done' } : null;
    case 'session.resumed':
      return { text: 'resumed from the journal', how: 'note' };
    default:
      return null;
  }
}

async function withPlainLoop(own: number, kills: (() => void)[]): Promise<void> {
  const column = new Column('plain');
  const world = new World();
  column.world(world);
  const tell = (line: Line) => {
    column.add(line);
    column.world(world);
  };
  for (let isRunning = true; isRunning; ) {
    let isKilled = false;
    kills.push(() => {
      isKilled = true;
    });
    const from = performance.now();
    const next = async () => {
      await pause(thinkMs);
      return queue.plain.shift() ?? null;
    };
    try {
      await plainLoop(world, { next, isKilled: () => isKilled }, tell);
      if (own === run) column.status(...verdictOf(true, world));
      isRunning = false;
    } catch (error) {
      if (own !== run) return;
      tell({ text: String((error as Error).message), how: isKilled ? 'note' : 'failed', from, to: performance.now() });
      if (!isKilled) column.status(...verdictOf(false, world));
      isRunning = isKilled;
      // It keeps nothing, so it begins again.
      if (isKilled) await pause(leaseMs);
    }
  }
}

/** What is true of the world beside what a loop says. */
function verdictOf(saysDone: boolean, world: World): [string, string] {
  const twice = [...world.done.values()].some((count) => count > 1);
  if (twice) return ['did something twice', 'failed'];
  if (!saysDone) return ['failed, and says so', 'note'];
  return world.isRight ? ['done, and it is', 'done'] : ['says it is done, and it is not', 'failed'];
}

for (const fault of faults) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = fault;
  button.onclick = () => {
    queue.pawl.push(fault);
    queue.plain.push(fault);
  };
  element('faults').append(button);
}
const killing = document.createElement('button');
killing.textContent = 'kill the process';
killing.type = 'button';
killing.className = 'kill';
killing.onclick = () => kill();
element('faults').append(killing);
element('again').onclick = () => void begin();
element('prompt').textContent = prompt;
void begin();
