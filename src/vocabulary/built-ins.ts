/** The tool by which a session ends (F-1). */
export const finalReportName = 'final_report';

/**
 * The names of the built-in tools except final_report, by their option in `builtIns`. To add one: a row here, its file
 * in `tools/built-in/`, and its row in `list.ts` there.
 */
export const optionalBuiltIns = {
  /** Lets the model report progress: an event, not a step; default: false. */
  progressReport: 'progress_report',
  /** Lets the model bundle several calls into one; default: false. */
  batch: 'batch',
  /** Lets the model read the clock; default: false. */
  currentTime: 'current_time',
  /** Stores oversized results, to be read in pages; default: false. */
  readResult: 'read_result',
  /** Lets the model read what compactions replaced, in pages; default: whether the agent has `compact`. */
  readHistory: 'read_history',
} as const;

/** The `builtIns` of an agent. */
export type BuiltIns = { [Option in keyof typeof optionalBuiltIns]?: boolean | undefined };

/** Reserved tool names. */
export const builtInNames: readonly string[] = [finalReportName, ...Object.values(optionalBuiltIns)];
