import type { HttpRequest } from '../../http/http-policy.ts';
import { deref, type JsonRecord, propertiesOf, record } from './openapi-schema.ts';
import { queryPieces } from './openapi-styles.ts';
import { encoded, parameterText } from './rest.ts';

/** How an operation sends its body. */
export type BodyKind = {
  /** Its media type; null for an operation without a body. */
  type: string | null;
  /** The media types of the fields of a form that are files. */
  files: ReadonlyMap<string, string>;
  /** How the document wants the fields of a form to be written, by their names. */
  encoding: JsonRecord;
};

/** Returns how a body of a media type is sent. */
export function bodyKind(api: JsonRecord, type: string | null, content: JsonRecord): BodyKind {
  const encoding = record(content.encoding ?? {});
  return { type, files: filesIn(api, record(content.schema ?? {}), encoding), encoding };
}

/** Returns the media types of the fields that hold files, as OpenAPI 3.0 or 3.1 says so. */
function filesIn(api: JsonRecord, body: JsonRecord, encoding: JsonRecord): Map<string, string> {
  const files = new Map<string, string>();
  for (const [name, schema] of Object.entries(propertiesOf(api, body))) {
    const field = deref(api, schema);
    const one = field.type === 'array' ? deref(api, field.items) : field;
    const isFile = one.format === 'binary' || (one.contentMediaType !== undefined && one.contentEncoding === undefined);
    const stated = typeIn(encoding, name) ?? one.contentMediaType;
    if (isFile) files.set(name, typeof stated === 'string' ? stated : 'application/octet-stream');
  }
  return files;
}

/** Returns the one media type that the document names for a field; null if it names none, or several. */
function typeIn(encoding: JsonRecord, name: string): string | null {
  const { contentType } = record(encoding[name] ?? {});
  return typeof contentType === 'string' && !/[*,]/.test(contentType) ? contentType : null;
}

/** Writes a body, and names its media type. */
export function operationBody(
  kind: BodyKind,
  body: unknown,
  headers: Record<string, string>,
): Pick<HttpRequest, 'headers' | 'body'> {
  const { type } = kind;
  if (type === null || body === undefined) return { headers, body: null };
  const given = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  // A form has no null.
  const fields = given.filter(([, value]) => value !== null);
  if (/json/.test(type)) return { headers: { ...headers, 'content-type': type }, body: JSON.stringify(body) };
  if (/^application\/x-www-form-urlencoded/.test(type))
    return { headers: { ...headers, 'content-type': type }, body: formOf(kind, fields) };
  if (/^multipart\/form-data/.test(type)) return { headers, body: partsOf(kind, fields) };
  if (type.includes('*')) return encoded(body, headers);
  return encoded(typeof body === 'string' ? body : parameterText(body), { ...headers, 'content-type': type });
}

/** Writes a form as a query is written: each field in the style that the document names for it, or else its values. */
function formOf({ encoding }: BodyKind, fields: readonly [string, unknown][]): string {
  const pieces = fields.flatMap(([name, value]) => {
    const { style, explode } = record(encoding[name] ?? {});
    const isJson = /json/i.test(typeIn(encoding, name) ?? '');
    const values = isJson ? [JSON.stringify(value)] : [value].flat().map(parameterText);
    if (style === undefined && explode === undefined)
      return values.map((one) => new URLSearchParams({ [name]: one }).toString());
    const kind = typeof style === 'string' ? style : 'form';
    const isExploded = typeof explode === 'boolean' ? explode : kind === 'form';
    return queryPieces({ name, style: kind, explode: isExploded, allowReserved: false }, value);
  });
  return pieces.join('&');
}

function partsOf({ files, encoding }: BodyKind, fields: readonly [string, unknown][]): FormData {
  const form = new FormData();
  for (const [name, value] of fields) {
    const [file, stated] = [files.get(name), typeIn(encoding, name)];
    for (const one of [value].flat()) {
      const text = /json/i.test(stated ?? '') ? JSON.stringify(one) : parameterText(one);
      // Only the bytes of a file stay as they are.
      if (file !== undefined) form.append(name, new Blob([text], { type: file }), name);
      else if (stated !== null && !stated.startsWith('text/plain'))
        form.append(name, new Blob([text], { type: stated }));
      else form.append(name, text);
    }
  }
  return form;
}
