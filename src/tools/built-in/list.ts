import { type BuiltIns, optionalBuiltIns } from '../../vocabulary/built-ins.ts';
import type { CatalogTool } from '../catalog-tool.ts';
import { batchTool } from './batch.ts';
import { currentTimeTool } from './current-time.ts';
import { progressReportTool } from './progress.ts';
import { readHistoryTool } from './read-history.ts';
import { readResultTool } from './read-result.ts';

const makers: Record<keyof BuiltIns, (name: string) => CatalogTool> = {
  progressReport: progressReportTool,
  batch: batchTool,
  currentTime: currentTimeTool,
  readResult: readResultTool,
  readHistory: readHistoryTool,
};

const options = Object.keys(optionalBuiltIns) as (keyof BuiltIns)[];

/** Returns the enabled tools, in the order of `optionalBuiltIns`. */
export function builtInsOf(enabled: Readonly<BuiltIns>): CatalogTool[] {
  return options.flatMap((option) => (enabled[option] === true ? [makers[option](optionalBuiltIns[option])] : []));
}
