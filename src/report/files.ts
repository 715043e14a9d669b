import { acceptedVerdict, missingReport, type ReportFormat } from './format.ts';

/** One or more files that the model makes itself, such as images. The agent finishes by a plain reply. */
export const filesFormat: ReportFormat = {
  name: 'files',
  description: 'One or more files, such as an image, in your reply.',
  contentSchema: { type: 'array', minItems: 1 },
  validate: (content) => {
    const files = Array.isArray(content) ? content : [];
    return files.length === 0 ? missingReport('the reply holds no file') : acceptedVerdict(files);
  },
  parseText: () => ({ ok: true, content: [] }),
  parseFiles: (files) => files,
};
