import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { phases } from '../../machines/contract/work.ts';
import { slugs } from '../../machines/index.ts';
import { logLines } from '../graph/log-lines.ts';
import { loggingDocument } from '../graph/logging-document.ts';

const sources = ['src/observe/log/session-log.ts', 'src/observe/log/debug-line.ts', 'src/workflow/run/run-log.ts']
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

describe('S-2 S-3: the table of all log lines', () => {
  it('is docs/logging.md', () => {
    expect(readFileSync('docs/logging.md', 'utf8')).toBe(loggingDocument());
  });

  it('has each line once, with an example that has its fields', () => {
    const names = logLines.map(({ event, level }) => `${event} ${level}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { event, fields, example } of logLines) {
      const required = fields.filter((field) => !field.endsWith('?'));
      expect([
        event,
        Object.keys(example)
          .filter((name) => name !== 'event')
          .toSorted(),
      ]).toEqual([event, required.toSorted()]);
    }
  });

  it('names phases and slugs in its examples as they are', () => {
    for (const { event, example } of logLines) {
      if ('phase' in example) expect([event, phases]).toEqual([event, expect.arrayContaining([example.phase])]);
      if ('slugs' in example)
        expect([event, slugs]).toEqual([event, expect.arrayContaining(example.slugs as string[])]);
    }
  });

  it('has every fact that the code logs', () => {
    const logged = [...sources.matchAll(/case '([\w.]+)':/g)].map(([, event]) => event);
    expect(logged.length).toBeGreaterThan(8);
    const listed = logLines.map(({ event }) => event);
    expect(logged.filter((event) => !listed.includes(event ?? ''))).toEqual([]);
  });
});
