import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../errors.ts';

export type StdioServer = { command: string; args?: readonly string[]; env?: Record<string, string>; cwd?: string };

/** The longest message that a server may send, in bytes. */
const longestMessage = 64 * 1_024 * 1_024;
/** Ms that a server has to end after its input was closed, and again after it was asked to. */
const graceMs = 500;

/** Ms for what a server that has ended wrote last to come through. */
const lastWordsMs = 50;

/** Groups of processes that are alive: whatever ends this process, but for SIGKILL, takes them along. */
const groups = new Set<number>();
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function endAll(): void {
  for (const group of groups) signalGroup(group, 'SIGKILL');
}

function onSignal(signal: NodeJS.Signals): void {
  // Whoever else listens decides what comes of it, and closes the session; by ourselves we end as we would have.
  if (process.listenerCount(signal) > 1) return;
  endAll();
  unwatch();
  process.kill(process.pid, signal);
}

function watchGroup(pid: number): void {
  if (groups.size === 0) {
    process.on('exit', endAll);
    for (const signal of endingSignals) process.on(signal, onSignal);
  }
  groups.add(pid);
}

function unwatch(): void {
  process.off('exit', endAll);
  for (const signal of endingSignals) process.off(signal, onSignal);
}

function endGroup(pid: number): void {
  signalGroup(pid, 'SIGKILL');
  if (groups.delete(pid) && groups.size === 0) unwatch();
}

/**
 * A server process that speaks MCP over its standard streams. It leads a process group of its own, so that whatever it
 * starts (a package runner starts the server itself) is ended with it.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private readonly server: StdioServer;
  private readonly onStderr: (line: string) => void;
  private child: ChildProcessByStdio<Writable, Readable, Readable> | null = null;
  private exited: Promise<void> = Promise.resolve();

  constructor(server: StdioServer, onStderr: (line: string) => void) {
    this.server = server;
    this.onStderr = onStderr;
  }

  async start(): Promise<void> {
    const { command, args = [], env = {}, cwd } = this.server;
    const child = spawn(command, args, {
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    });
    this.child = child;
    const { pid } = child;
    if (pid !== undefined) watchGroup(pid);
    this.exited = new Promise((resolve) => {
      // What it started may hold its streams open: some time for its last words, then it is gone, and they with it.
      child.once('exit', () => {
        setTimeout(() => {
          if (pid !== undefined) endGroup(pid);
          this.child = null;
          resolve();
          this.onclose?.();
        }, lastWordsMs);
      });
      child.once('error', () => resolve());
    });
    child.stdin.on('error', (error) => this.onerror?.(error));
    eachLine(
      child.stdout,
      (line) => this.take(line),
      () => this.tooLong(),
    );
    eachLine(child.stderr, this.onStderr, () => undefined);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.on('error', (error) => this.onerror?.(error));
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.child === null) reject(new Error('the server process has ended'));
      else this.child.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Closes the server's input, then asks it to end, then ends it; and in any case what is left of its group. */
  async close(): Promise<void> {
    const { child } = this;
    const pid = child?.pid;
    if (child === null || pid === undefined) return;
    child.stdin.end();
    if (!(await this.endsWithin(graceMs))) signalGroup(pid, 'SIGTERM');
    if (!(await this.endsWithin(graceMs))) signalGroup(pid, 'SIGKILL');
    await this.endsWithin(graceMs);
    endGroup(pid);
  }

  private take(line: string): void {
    if (line.trim() === '') return;
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch (error) {
      this.onerror?.(new Error(`not a message: ${messageOf(error).slice(0, 200)}`));
    }
  }

  private tooLong(): void {
    this.onerror?.(new Error(`a message of more than ${longestMessage} bytes: the server is given up`));
    if (this.child?.pid !== undefined) signalGroup(this.child.pid, 'SIGKILL');
  }

  private endsWithin(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timeout = setTimeout(() => resolve(false), ms);
      this.exited.then(() => {
        clearTimeout(timeout);
        resolve(true);
      });
    });
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // It has ended.
  }
}

/** The lines of a stream, whole, however they come; `onTooLong` once for one that does not end. */
function eachLine(stream: Readable, onLine: (line: string) => void, onTooLong: () => void): void {
  let parts: Buffer[] = [];
  let length = 0;
  stream.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      onLine(Buffer.concat([...parts, chunk.subarray(start, end)]).toString('utf8'));
      parts = [];
      length = 0;
      start = end + 1;
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length <= longestMessage) return;
    parts = [];
    length = 0;
    onTooLong();
  });
  stream.on('end', () => {
    if (parts.length > 0) onLine(Buffer.concat(parts).toString('utf8'));
  });
  stream.on('error', () => undefined);
}
