import type { JSONSchema7 } from '@ai-sdk/provider';
import type { ReportFormat } from '../../report/format.ts';
import { judgeCall } from '../../report/format.ts';
import { finalReportName } from '../../vocabulary/built-ins.ts';
import { type CatalogTool, functionTool, later } from '../catalog-tool.ts';

/** Builds the tool that ends a session; its input holds the report in the agent's format (F-1). */
export function finalReportTool(format: ReportFormat): CatalogTool {
  return {
    name: finalReportName,
    kind: 'report',
    offered: later(offered(format)),
    validate: (input) => ({ valid: true, value: input }),
    execute: () => undefined,
    judgeReport: (input, limits) => judgeCall(format, input, limits),
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

/** The path of the content schema in the tool schema, to which references are rewritten. */
const place = '#/properties/content';

/** Matches references by a path, except into the definitions. An anchor is found wherever the schema stands. */
const byPath = /^#(?:$|\/(?!(?:\$defs|definitions)\/))/;

/** Embeds the content's schema in the tool's: moves its definitions to the root and rewrites other references. */
function hoisted(schema: JSONSchema7): { content: JSONSchema7; definitions: JSONSchema7 } {
  const whole: JSONSchema7 = JSON.parse(JSON.stringify(schema), (key, value) =>
    key === '$ref' && typeof value === 'string' && byPath.test(value) ? `${place}${value.slice(1)}` : value,
  );
  const { $defs, definitions, $schema: _, ...content } = whole;
  return {
    content,
    definitions: { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) },
  };
}
