import type { JSONSchema7 } from '@ai-sdk/provider';
import type { ReportFormat } from '../../report/format.ts';
import { ReportValidator } from '../../report/format.ts';
import { type CatalogTool, functionTool } from '../catalog.ts';

export const finalReportName = 'final_report';

/** The tool by which a session ends: its input holds the report, in the agent's format (F-1). */
export function finalReportTool(format: ReportFormat): CatalogTool {
  const validator = new ReportValidator(format);
  return {
    name: finalReportName,
    kind: 'report',
    offered: offered(format),
    validate: (input) => ({ valid: true, value: input }),
    needsApproval: () => false,
    execute: () => undefined,
    toModelOutput: null,
    judgeReport: (input) => validator.ofCall(input),
  };
}

async function offered(format: ReportFormat) {
  const content: JSONSchema7 = await format.contentSchema;
  return functionTool(
    finalReportName,
    `Ends the session by delivering the final report. ${format.description} Call it once, when the task is done or cannot be done.`,
    {
      type: 'object',
      properties: {
        status: {
          type: 'string',
          enum: ['success', 'partial', 'failure'],
          description: 'How you judge your own result.',
        },
        content,
      },
      required: ['content'],
    },
  );
}
