import { z } from 'zod';
import { flag } from '../../agent/shapes.ts';
import type { CatalogTool } from '../catalog-tool.ts';
import { batchName, batchTool } from './batch.ts';
import { currentTimeName, currentTimeTool } from './current-time.ts';
import { finalReportName } from './final-report.ts';
import { progressReportName, progressReportTool } from './progress.ts';
import { readResultName, readResultTool } from './read-result.ts';

/** Built-in tools except final_report, keyed by their `builtIns` option. To add one, add its file and a row here. */
const builtInTools = {
  /** Lets the model report progress: an event, not a step; default: false. */
  progressReport: { name: progressReportName, make: progressReportTool },
  /** Lets the model bundle several calls into one; default: false. */
  batch: { name: batchName, make: batchTool },
  /** Lets the model read the clock; default: false. */
  currentTime: { name: currentTimeName, make: currentTimeTool },
  /** Stores oversized results, to be read in pages; default: false. */
  readResult: { name: readResultName, make: readResultTool },
} satisfies Record<string, { name: string; make: () => CatalogTool }>;

const rows = Object.entries(builtInTools);

export type BuiltIns = { [Option in keyof typeof builtInTools]?: boolean | undefined };

export const builtInsSchema: z.ZodType<BuiltIns, BuiltIns> = z.strictObject(
  Object.fromEntries(rows.map(([option]) => [option, flag.optional()])),
);

/** Reserved tool names. */
export const builtInNames: readonly string[] = [finalReportName, ...rows.map(([, { name }]) => name)];

/** Returns the enabled tools, in list order. */
export function builtInsOf(options: Readonly<Record<string, boolean | undefined>>): CatalogTool[] {
  return rows.flatMap(([option, { make }]) => (options[option] === true ? [make()] : []));
}
