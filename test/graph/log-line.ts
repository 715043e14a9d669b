/** A line that Pawl logs: `docs/logging.md` is made of these, and the tests hold every line of theirs against them. */
export type LogLine = {
  event: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  when: string;
  /** The fields besides `event`; those that end in `?` are not always there. */
  fields: readonly string[];
  /** What to do. */
  advice: string;
  /** A line, without the time and process that a logger adds. */
  example: Readonly<Record<string, unknown>>;
};
