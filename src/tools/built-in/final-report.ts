import type { JSONSchema7 } from '@ai-sdk/provider';
import type { ReportFormat } from '../../report/format.ts';
import { ReportValidator } from '../../report/format.ts';
import { type CatalogTool, functionTool, later } from '../catalog.ts';

export const finalReportName = 'final_report';

/** The tool by which a session ends: its input holds the report, in the agent's format (F-1). */
export function finalReportTool(format: ReportFormat, timeoutMs: number): CatalogTool {
  const validator = new ReportValidator(format, timeoutMs);
  return {
    name: finalReportName,
    kind: 'report',
    offered: later(offered(format)),
    validate: (input) => ({ valid: true, value: input }),
    needsApproval: () => false,
    execute: () => undefined,
    toModelOutput: null,
    judgeReport: (input, signal) => validator.ofCall(input, signal),
  };
}

async function offered(format: ReportFormat) {
  const { content, definitions } = hoisted(await format.contentSchema);
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
      ...definitions,
    },
  );
}

/** Where the schema of the content stands in the tool's own, so that its references still lead somewhere. */
const place = '#/properties/content';

/** The content's schema as a part of the tool's: its definitions go to the root, and other references are led on. */
function hoisted(schema: JSONSchema7): { content: JSONSchema7; definitions: JSONSchema7 } {
  const whole: JSONSchema7 = JSON.parse(JSON.stringify(schema), (key, value) =>
    key === '$ref' && typeof value === 'string' && value.startsWith('#') && !/^#\/(\$defs|definitions)\//.test(value)
      ? `${place}${value.slice(1)}`
      : value,
  );
  const { $defs, definitions, $schema: _, ...content } = whole;
  return {
    content,
    definitions: { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) },
  };
}
