import { Slots } from '../../src/shared/slots.ts';
import { manualClock } from '../../src/testing/index.ts';
import type { CatalogTool, ToolRun } from '../../src/tools/catalog-tool.ts';
import { Questions } from '../../src/tools/questions.ts';
import { runTool } from '../../src/tools/running/run-tool.ts';

const call = { turn: 1, attempt: 2, index: 3, callId: 'c', name: 'look' };

type Execute = (input: unknown, run: ToolRun) => unknown;

/** Runs one tool, and tells what the session heard of it. */
export function running(execute: Execute, tool: Partial<CatalogTool> = {}, options: Record<string, unknown> = {}) {
  const clock = manualClock();
  const controller = new AbortController();
  const sights: object[] = [];
  const errors: unknown[] = [];
  const questions = new Questions();
  const slots = (options.slots as Slots) ?? new Slots(1);
  const own = { name: 'look', timeoutMs: undefined, execute, ...tool };
  const tools: Record<string, unknown> = { look: own, ...(options.tools as object) };
  const catalog = {
    get: (name: string) => tools[name],
    checkedInput: async (_tool: unknown, _id: string, sent: () => unknown) => ({ valid: true, value: sent() }),
    ...(options.catalog as object),
  };
  const outcome = runTool(
    {
      ...{
        catalog,
        slots,
        clock,
        sessionId: 's',
        context: () => ({ user: 'ada' }),
        timeoutMs: 50,
        resultBytes: 400,
        keptBytes: 100_000,
      },
      ...{
        isReadable: options.isReadable ?? true,
        secrets: [],
        lease: options.lease ?? null,
        clientToolTimeoutMs: null,
        maxToolMs: 600_000,
        sight: (one: object) => void sights.push(one),
      },
      onError: (name: string, callId: string, error: unknown) => void errors.push([name, callId, error]),
      conversation: { messages: ['m'], inputOf: (index: number) => ({ index }) },
      keptResults: { page: (id: string, page: number) => ({ text: `${id} ${page}`, of: 9 }) },
      tasks: { takeTask: () => null },
      questions,
    } as never,
    call,
    { key: 'k', signal: controller.signal } as never,
  );
  return { outcome, clock, controller, sights, errors, slots, questions };
}
