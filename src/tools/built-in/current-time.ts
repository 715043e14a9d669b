import { z } from 'zod';
import { lazily } from '../../platform/lazily.ts';
import type { CatalogTool } from '../catalog-tool.ts';
import { schemaTool } from '../schema-tool.ts';

const isTimeZone = (name: string) => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
};

const timeInput = lazily(() =>
  z.object({
    timeZone: z
      .string()
      .refine(isTimeZone, { error: 'must be an IANA time zone, such as "Europe/Berlin"' })
      .default('UTC')
      .describe('An IANA time zone, such as "Europe/Berlin".'),
  }),
);

/** Returns the date and time; a model has no clock. */
export function currentTimeTool(name: string): CatalogTool {
  return schemaTool({
    name,
    description: 'Gets the current date, weekday and time in a time zone.',
    input: timeInput(),
    afterCrash: 'repeat',
    execute: ({ timeZone }, { now }) => {
      const moment = new Date(now());
      const local = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'full', timeStyle: 'long' }).format(moment);
      return { local, utc: moment.toISOString() };
    },
  });
}
