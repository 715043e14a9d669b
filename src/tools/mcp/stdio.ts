import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { systemClock } from '../../host/clock.ts';
import { messageOf } from '../../input/errors.ts';
import { endGroup, signalGroup, startGroup } from '../../platform/node-only/process-groups.ts';

export type StdioServer = { command: string; args?: readonly string[]; env?: Record<string, string>; cwd?: string };

/** The longest message accepted from a server, in bytes. */
export const longestMessage = 64 * 1_024 * 1_024;
/** Time for a server to exit after its stdin closes, and again after SIGTERM, in ms. */
const graceMs = 500;

/** Time for a server's last output to arrive after it exits, in ms. */
const lastWordsMs = 50;

/**
 * A server process that speaks MCP over its standard streams. It leads its own process group, so that its child
 * processes end with it (a package runner starts the server as a child).
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private readonly server: StdioServer;
  private readonly onStderr: (line: string) => void;
  private child: ChildProcessWithoutNullStreams | null = null;
  /** The process ran, and ended. */
  hasExited = false;
  /** The SDK knows a transport to a process by these two. */
  readonly stderr = null;
  get pid(): number | null {
    return this.child?.pid ?? null;
  }
  private exited: Promise<void> = Promise.resolve();

  constructor(server: StdioServer, onStderr: (line: string) => void) {
    this.server = server;
    this.onStderr = onStderr;
  }

  async start(): Promise<void> {
    const { command, args = [], env = {}, cwd } = this.server;
    const child = startGroup(() =>
      spawn(command, args, {
        env: { ...getDefaultEnvironment(), ...env },
        detached: process.platform !== 'win32',
        windowsHide: true,
        ...(cwd !== undefined && { cwd }),
      }),
    );
    this.child = child;
    const { pid } = child;
    this.exited = new Promise((resolve) => {
      // Its children may hold its streams open. After a short wait for the last output, the group is ended.
      child.once('exit', () => {
        this.hasExited = true;
        setTimeout(() => {
          if (pid !== undefined) endGroup(pid);
          this.child = null;
          resolve();
          this.onclose?.();
        }, lastWordsMs);
      });
      child.once('error', () => resolve());
    });
    for (const stream of [child.stdin, child.stdout, child.stderr])
      stream.on('error', (error) => this.onerror?.(error));
    eachLine(
      child.stdout,
      (line) => this.takeLine(line),
      () => this.tooLong(),
    );
    eachLine(child.stderr, thinned(this.onStderr), () => undefined);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => {
        // The system blames the command in either case.
        const isAway = cwd !== undefined && !existsSync(cwd);
        reject(isAway ? new Error(`its directory ${cwd} does not exist`, { cause: error }) : error);
      });
    });
    child.on('error', (error) => this.onerror?.(error));
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.child === null) reject(new Error('the server process has ended'));
      else this.child.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Closes the server's stdin, then sends SIGTERM, then SIGKILL. Always ends the rest of its process group. */
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

  private takeLine(line: string): void {
    if (line.trim() === '') return;
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch (error) {
      this.onerror?.(new Error(`not a message: ${messageOf(error).slice(0, 200)}`));
    }
  }

  private tooLong(): void {
    this.onerror?.(new Error(`message over ${longestMessage} bytes; server disconnected`));
    if (this.child?.pid !== undefined) signalGroup(this.child.pid, 'SIGKILL');
  }

  private endsWithin(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timeout = setTimeout(() => resolve(false), ms);
      void this.exited.then(() => {
        clearTimeout(timeout);
        resolve(true);
      });
    });
  }
}

/** Lines of stderr in a minute that are passed on whole, before a flood is thinned. */
const mostLines = 500;
const minuteMs = 60_000;

/** Passes on the first 500 lines of a minute, then only every hundredth, with the number of those that were left out. */
export function thinned(onLine: (line: string) => void, now = () => systemClock.now()): (line: string) => void {
  let [count, since] = [0, now()];
  return (line) => {
    // Its minute begins with a line, even if the clock jumps.
    if (Math.abs(now() - since) >= minuteMs) [count, since] = [0, now()];
    count += 1;
    if (count <= mostLines) onLine(line);
    else if (count % 100 === 0) onLine(`[99 lines left out] ${line}`);
  };
}

/** Calls `onLine` with each complete line of a stream, and `onTooLong` if a line is too long. */
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
}
