import { logLines } from '../graph/log-lines.ts';

/** What the lines of a test have that the table of all lines has not; `log-lines.setup.ts` expects nothing. */
export const unlisted: string[] = [];

export function unlistedIn({
  level,
  event,
  time: _,
  pid: __,
  hostname: ___,
  ...fields
}: Record<string, unknown>): string[] {
  const names: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };
  const row = logLines.find((one) => one.event === event && one.level === names[Number(level)]);
  if (row === undefined) return [`${event} at ${names[Number(level)]}`];
  const required = row.fields.filter((field) => !field.endsWith('?'));
  const known = row.fields.map((field) => field.replace('?', ''));
  return [
    ...Object.keys(fields).filter((field) => !known.includes(field)),
    ...required.filter((field) => !(field in fields)).map((field) => `no ${field}`),
  ].map((field) => `${event}: ${field}`);
}
