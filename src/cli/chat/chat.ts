import type { Message } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { oneAtATime } from '../../platform/promises.ts';
import { tame } from '../../platform/text.ts';
import { callIn } from '../../session/recovery/messages.ts';
import type { Session, SessionResult } from '../../session/session.ts';
import { startSession } from '../../session/start-session.ts';
import { declineQuestion } from '../../session/unasked.ts';
import { readAgentFile } from '../agent-file.ts';
import { exitCodes, type Flags, sessionExitCode, UsageError } from '../command-line.ts';
import { commandLogger } from '../log.ts';
import { agentOf, lookingAround } from '../run.ts';
import { previewOf } from '../terminal/preview.ts';
import { ChatView } from './chat-view.ts';
import { Keyboard } from './keyboard.ts';
import { terminalChat } from './terminal-chat.ts';

const help = `Write a message and press Enter. End a line with \\ to continue on the next one, or put several lines
between two lines of """.
  /steer TEXT   while the agent works: tell it something
  /stop         while the agent works: give it one last turn
  /new          forget the conversation
  /exit         quit (so does Ctrl-D; Ctrl-C aborts an answer)`;

/** `pawl chat`: a conversation in the terminal, or with the lines of a pipe. Each message is a session of its own. */
export async function chatCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  if (positionals.length > 0) throw new UsageError(`pawl chat takes no prompt; unexpected: ${positionals.join(' ')}.`);
  const { report: _, ...definition } = flags.agent === undefined ? lookingAround() : await readAgentFile(flags.agent);
  const agent = await agentOf({ ...definition, finish: 'text' }, flags, flags.agent);
  return flags.tui === true ? terminalChat(agent, flags) : new Chat(agent, flags).talk();
}

class Chat {
  private readonly agent: Agent;
  private readonly view = new ChatView(process.stdout);
  private readonly keyboard: Keyboard;
  private readonly logger;
  private history: readonly Message[] = [];
  private running: Session | null = null;
  private last: SessionResult | null = null;
  /** What withdraws a question, by session and call. */
  private readonly questions = new Map<string, AbortController>();
  /** Questions are asked one by one. */
  private readonly inTurn = oneAtATime();

  constructor(agent: Agent, flags: Flags) {
    this.agent = agent;
    this.logger = commandLogger(flags, { isShown: true });
    this.keyboard = new Keyboard(process.stdin, process.stdout, () => this.interrupt());
    this.keyboard.heed = (line) => this.command(line);
  }

  async talk(): Promise<number> {
    const models = this.agent.targets.map(({ name }) => name).join(', ');
    this.view.note(`${this.agent.name} on ${models}. Type /help for the commands.`);
    for (;;) {
      const message = await this.message();
      if (message === null || message === '/exit') break;
      if (message === '/help') this.view.line(help);
      else if (message === '/new') this.forget();
      else if (/^\/(steer|stop)\b/.test(message)) this.view.note('The agent is not working.');
      else if (/^\/\w+$/.test(message)) this.view.note(`There is no ${message}; see /help.`);
      else if (message !== '') await this.answer(message);
    }
    this.keyboard.close();
    return this.last === null ? exitCodes.succeeded : sessionExitCode(this.last);
  }

  /** Returns the next message, of one line or several; null at the end of the input. */
  private async message(): Promise<string | null> {
    const first = await this.keyboard.next('\nyou> ');
    if (first === null) return null;
    const lines: string[] = [];
    const isBlock = first.trim() === '"""';
    let line: string | null = isBlock ? await this.keyboard.next('...> ') : first;
    for (; line !== null; line = await this.keyboard.next('...> ')) {
      if (isBlock && line.trim() === '"""') break;
      const goesOn = isBlock || line.endsWith('\\');
      lines.push(goesOn && !isBlock ? line.slice(0, -1) : line);
      if (!goesOn) break;
    }
    return lines.join('\n').trim();
  }

  private async answer(prompt: string): Promise<void> {
    const { agent, logger, history: messages } = this;
    const session = startSession(agent, { prompt, messages, logger, onEvent: (event) => this.heard(event) });
    this.running = session;
    const result = await session.result;
    this.running = null;
    this.last = result;
    this.history = result.conversation;
    this.view.end(result, agent.limits.maxTurns * agent.limits.maxRetries);
  }

  private heard(event: SessionEvent): void {
    this.view.show(event);
    declineQuestion(event, this.running);
    if (event.type === 'tool.approvalRequested') {
      const withdrawn = new AbortController();
      this.questions.set(callIn(event, event.callId), withdrawn);
      void this.inTurn(() => this.decide(event, withdrawn.signal));
    }
    // It timed out, or the session ended: no decision is needed.
    if (event.type === 'tool.answered') this.questions.get(callIn(event, event.callId))?.abort();
  }

  private async decide(
    event: Extract<SessionEvent, { type: 'tool.approvalRequested' }>,
    withdrawn: AbortSignal,
  ): Promise<void> {
    const { callId, sessionId, name, input } = event;
    const question = `Run ${tame(`${name} ${JSON.stringify(input)}`)}? [y/N] `;
    for (const line of await previewOf(this.agent, event, process.stdout, withdrawn)) this.view.line(line);
    const answer = this.keyboard.isAttended ? await this.keyboard.ask(question, withdrawn) : null;
    this.questions.delete(callIn(event, event.callId));
    if (withdrawn.aborted) return;
    if (answer === null) {
      const reason = 'no terminal is available to ask for approval';
      this.running?.approve(callId, { approved: false, reason, sessionId });
      return;
    }
    const approved = /^y(es)?$/i.test(answer.trim());
    this.running?.approve(callId, { approved, reason: 'decided at the keyboard', sessionId });
  }

  /** What can be typed while the agent works. */
  private command(line: string): boolean {
    const [, name, text = ''] = /^\/(steer|stop)\b\s*(.*)$/.exec(line.trim()) ?? [];
    if (this.running === null || name === undefined) return false;
    if (name === 'stop') this.running.stop();
    else if (text === '') this.view.note('Write what to tell the agent: /steer TEXT.');
    else if (!this.running.steer(text)) this.view.note('too late: no request can carry it any more');
    return true;
  }

  private forget(): void {
    this.history = [];
    this.view.note('A new conversation begins.');
  }

  private interrupt(): void {
    if (this.running === null) this.keyboard.close();
    else this.running.abort('interrupted at the keyboard');
  }
}
