import type { CallToolResult } from '@modelcontextprotocol/server';
import type { FilePart } from '../../../machines/index.ts';
import { isRecord } from '../../platform/plain-json.ts';
import type { SessionResult } from '../../session/session.ts';

/** A session's report as the result of a call. One that did not succeed is an error with its slugs. */
export function resultOf({ success, report, slugs }: SessionResult): CallToolResult {
  const { content } = report;
  if (report.format === 'files' && success) return { content: (content as FilePart[]).map(fileOf) };
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return {
    content: [{ type: 'text', text }],
    ...(isRecord(content) && { structuredContent: { ...content } }),
    ...(!success && { isError: true, _meta: { slugs } }),
  };
}

/** A file of a report, as MCP holds it. */
function fileOf({ mediaType, data, filename }: FilePart, index: number): CallToolResult['content'][number] {
  const name = (filename ?? `file ${index + 1}`).toWellFormed();
  const mimeType = mediaType.toLowerCase();
  if (data.type === 'url') return { type: 'resource_link', uri: data.url, name, mimeType };
  const uri = `report:///${index + 1}/${encodeURIComponent(name)}`;
  if (data.type === 'text') return { type: 'resource', resource: { uri, mimeType, text: data.text } };
  const [kind] = mimeType.split('/');
  if (kind === 'image' || kind === 'audio') return { type: kind, data: data.data, mimeType };
  return { type: 'resource', resource: { uri, mimeType, blob: data.data } };
}
