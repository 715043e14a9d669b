import { AsyncLocalStorage } from 'node:async_hooks';
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../../../machines/index.ts';
import { isRecord, plainJson } from '../../../platform/plain-json.ts';
import type { ToolRun } from '../../catalog-tool.ts';
import type { McpServerConfig } from '../config.ts';

/** What a server asks the user, by the handlers of its configuration, or by the call that it asks for. */
export class Asking {
  private readonly handlers: NonNullable<McpServerConfig['handlers']>;
  private readonly said: (text: string) => string;
  private readonly runs = new AsyncLocalStorage<ToolRun>();
  private readonly running = new Set<ToolRun>();

  constructor(handlers: McpServerConfig['handlers'] = {}, said: (text: string) => string) {
    this.handlers = handlers;
    this.said = said;
  }

  /** Runs a call of the server. */
  async during<T>(run: ToolRun, call: () => Promise<T>): Promise<T> {
    this.running.add(run);
    try {
      return await this.runs.run(run, call);
    } finally {
      this.running.delete(run);
    }
  }

  /** Answers a question. A server of an earlier revision does not say for which call: then it is the only one, or declined. */
  async answer(params: ElicitRequest['params']): Promise<ElicitResult> {
    const { elicit } = this.handlers;
    if (typeof elicit === 'function') return elicit(params);
    const [only, ...others] = this.running;
    const run = this.runs.getStore() ?? (others.length === 0 ? only : undefined);
    // A task's questions come as they are.
    if (elicit !== 'ask' || run === undefined || typeof params?.message !== 'string') return { action: 'decline' };
    const url = 'url' in params && typeof params.url === 'string' ? ` ${params.url}` : '';
    const asked = 'requestedSchema' in params ? plainJson(params.requestedSchema) : null;
    const schema: JsonObject = isRecord(asked) ? (asked as JsonObject) : { type: 'object', properties: {} };
    const { output, isError } = await run.ask({ message: this.said(`${params.message}${url}`), schema });
    if (isError || !isRecord(output)) return { action: 'decline' };
    return { action: 'accept', content: output as NonNullable<ElicitResult['content']> };
  }
}
