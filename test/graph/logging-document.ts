import type { LogLine } from './log-line.ts';
import { logLines } from './log-lines.ts';

/** Returns docs/logging.md. */
export function loggingDocument(): string {
  const rank = { error: 0, warn: 1, info: 2, debug: 3 };
  const lines = logLines.toSorted((one, other) => rank[one.level] - rank[other.level]);
  const eventsAt = (level: string) =>
    lines.flatMap((line) => (line.level === level ? [`\`${line.event}\``] : [])).join(', ');
  return `# What Pawl logs

Every line, from one table (\`npm run draw\` writes this file). The default logger is pino at level \`warn\` on stderr; see
\`logger\` in [the options](guides/options.md). A line is an object and a message (\`msg\`); secrets are removed from both.
What is not listed here is not logged: everything else is an event (\`onEvent\`).

${Object.keys(rank)
  .map((level) => `- ${level}: ${eventsAt(level)}`)
  .join('\n')}

${lines.map(sectionOf).join('\n')}`;
}

/** The numbers that pino writes. */
const pinoLevels = { debug: 20, info: 30, warn: 40, error: 50 };

function sectionOf({ event, level, when, fields, advice, example }: LogLine): string {
  return `## ${event} (${level})

- When: ${when}
- Fields: ${fields.map((field) => `\`${field.replace('?', '')}\`${field.endsWith('?') ? ' (not always)' : ''}`).join(', ')}
- What to do: ${advice}

\`\`\`text
${JSON.stringify({ level: pinoLevels[level], ...example })}
\`\`\`
`;
}
