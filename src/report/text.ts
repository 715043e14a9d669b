import { acceptedVerdict, invalidFormat, missingReport, type ReportFormat } from './format.ts';

/** Non-blank plain text. */
export const textFormat = proseFormat('text', 'Your complete result as plain text.');

/** Markdown: any non-blank text. */
export const markdownFormat = proseFormat('markdown', 'Your complete result as Markdown.');

function proseFormat(name: string, description: string): ReportFormat {
  return {
    name,
    description,
    contentSchema: { type: 'string', minLength: 1, description },
    validate: (content) => {
      if (content === undefined || content === null) return missingReport('content is missing');
      if (typeof content !== 'string') return invalidFormat(`content must be a ${name} string`);
      return content.trim() === '' ? missingReport('content is empty') : acceptedVerdict(content);
    },
    parseText: (text) => ({ ok: true, content: text }),
  };
}
