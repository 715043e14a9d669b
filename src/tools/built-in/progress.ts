import { type CatalogTool, functionTool } from '../catalog-tool.ts';

/** Builds the model's tool for reporting progress: an event, not a step (T-2). */
export function progressReportTool(name: string): CatalogTool {
  return {
    name,
    kind: 'progress',
    offered: functionTool(
      name,
      'Tells the user in one sentence how the work is going. It does not count as a step: call it along with the tools that do the work.',
      {
        type: 'object',
        properties: { message: { type: 'string', minLength: 1, description: 'One sentence.' } },
        required: ['message'],
      },
    ),
    validate: (input) =>
      typeof input.message === 'string' && input.message.trim() !== ''
        ? { valid: true, value: input }
        : { valid: false, reasons: 'message must be a non-blank string' },
    execute: () => undefined,
  };
}
