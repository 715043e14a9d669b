import type { Breakage } from '../graph/breakages.ts';

/** Defects in `src/`, of kinds that once existed or passed the tests. The simulation detects each, some only over HTTP. */
export const breakagesOfSrc: Breakage[] = [
  {
    name: 'D-3: a process that lost its session writes to its journal',
    file: 'src/journal/memory.ts',
    from: 'if (kept.owner !== owner || kept.entries.length !== after) throw noLongerOwned(sessionId);',
    to: '',
  },
  {
    name: 'D-3: a torn write leaves half of itself',
    file: 'src/journal/sqlite/database.ts',
    from: '      return this.transaction(work);',
    to: '      return work();',
  },
  {
    name: 'D-4: a process that lost its session has no result',
    file: 'src/session/recovery/suspension.ts',
    from: '  await letGo(root, status, failure, () => tree.leave());\n',
    to: '  void [status, failure];\n',
  },
  {
    name: 'D-2: an effect that was cancelled before it began begins',
    file: 'src/host/driver-core.ts',
    from: '    this.pending = this.pending.filter((effect) => effect.key !== key);\n',
    to: '',
  },
  {
    name: 'D-2: a cancel does not abort the signal',
    file: 'src/host/driver-core.ts',
    from: '    this.running.get(key)?.cancel();\n',
    to: '',
  },
  {
    name: 'D-2: an event follows the result',
    file: 'src/observe/observer.ts',
    from: '    this.silence();\n    this.folds.stream.end();',
    to: '    this.folds.stream.end();',
  },
  {
    name: 'D-3: a delivery is delivered before it is durable',
    file: 'src/host/journaled.ts',
    from: '    await this.log.delivered(deliveries);',
    to: '    void this.log.delivered(deliveries);',
  },
  {
    name: 'D-4: an effect begins before its mark is durable',
    file: 'src/host/journaled.ts',
    from: '    await this.log.begun(keys, at);',
    to: '    void this.log.begun(keys, at);',
  },
  {
    name: 'P-1: no part restarts the idle timeout',
    file: 'src/model/request-timers.ts',
    from: '    this.lastPartAt = at;\n',
    to: '',
  },
  {
    name: 'P-1: the timers of a request keep running',
    file: 'src/model/send-request.ts',
    from: '    timers.clear();',
    to: '    void timers;',
  },
  {
    name: 'T-2: a slot is not given back',
    file: 'src/tools/running/run-tool.ts',
    from: '  } finally {\n    release();\n  }',
    to: '  } finally {\n    void release;\n  }',
  },
  {
    name: 'S-5: the WARN line is written without redaction',
    file: 'src/observe/log/session-log.ts',
    from: '  const clean = (text: string) => redact(text, options.secrets);',
    to: '  const clean = (text: string) => text;',
  },
  {
    name: 'S-6: a reader that lagged loses a character',
    file: 'src/observe/stream/event-stream.ts',
    from: 'length - left)',
    to: 'length - left + 1)',
  },
  {
    name: "D-2: a listener is left on the caller's signal",
    file: 'src/host/run-machine.ts',
    from: "    this.leaveSignal = () => signal.removeEventListener('abort', abort);\n",
    to: '',
  },
  {
    name: 'B-2: a redirect sends a request again',
    file: 'src/http/bounded-fetch.ts',
    from: "redirect: 'manual'",
    to: "redirect: 'follow'",
  },
  {
    name: 'D-2: an MCP server is not told of an abort',
    file: 'src/tools/mcp/calls/call.ts',
    from: '{ ...noTimeout, signal, onprogress, toolDefinition });',
    to: '{ ...noTimeout, onprogress, toolDefinition });',
  },
  {
    name: 'D-2: an MCP server over HTTP is not told that its session is over',
    file: 'src/tools/mcp/transport.ts',
    from: 'steps.unshift(() => transport.terminateSession());',
    to: 'void transport;',
  },
  {
    name: 'D-2: an MCP server outlives its session',
    file: 'src/tools/mcp/transport.ts',
    from: 'const steps = [() => (isAttached ? client.close() : transport.close())];',
    to: 'const steps: (() => Promise<void>)[] = [];',
  },
  {
    name: 'D-2: a server that ignores the end of its input outlives its session',
    file: 'src/tools/mcp/stdio.ts',
    from: "    if (!(await this.endsWithin(graceMs))) signalGroup(pid, 'SIGTERM');",
    to: '    if ((await this.endsWithin(graceMs)) || graceMs > 0) return;',
  },
  {
    name: 'D-2: what a server that died had started lives on',
    file: 'src/tools/mcp/stdio.ts',
    from: '          if (pid !== undefined) endGroup(pid);',
    to: '',
  },
];
