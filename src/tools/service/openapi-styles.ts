import type { JsonRecord } from './openapi-schema.ts';
import { filled, parameterText } from './rest.ts';

/** A parameter of an operation, and how OpenAPI writes its value. */
export type Parameter = {
  name: string;
  in: string;
  /** The parameter's field in the tool's input: its name, unless two parameters share that name. */
  field: string;
  required: boolean;
  /** The media type in which it is written, which has no style; null for one with a style. */
  content: string | null;
  style: string;
  explode: boolean;
  /** Whether reserved characters of a value stay as they are in a query. */
  allowReserved: boolean;
  schema: JsonRecord;
  description: string;
};

/** Fills in the parameters of a path. */
export function filledPath(template: string, given: readonly (readonly [Parameter, unknown])[]): string {
  const pieces = new Map(given.map(([one, value]) => [one.name, pathPieces(one, value)]));
  const placeOf = (name: string, index: number) => (index === 0 ? name : `${name}#${index}`);
  const shaped = template.replace(/\{([^{}]+)\}/g, (all, name: string) => {
    const own = pieces.get(name);
    return own?.map(([sign], index) => `${sign}{${placeOf(name, index)}}`).join('') ?? all;
  });
  const parts = [...pieces].flatMap(([name, own]) =>
    own.map(([, value], index) => [placeOf(name, index), value] as const),
  );
  return filled(shaped, Object.fromEntries(parts)).text;
}

/** Returns the values that a path parameter puts into a path in its OpenAPI style, each with the sign before it. */
function pathPieces({ name, style, explode }: Parameter, value: unknown): [sign: string, value: unknown][] {
  if (style !== 'label' && style !== 'matrix') return simplePieces('', value, explode);
  const sign = (key: string) => `${style === 'label' ? '.' : ';'}${encodeURIComponent(key)}=`;
  const own = style === 'label' ? '.' : sign(name);
  if (!explode || typeof value !== 'object' || value === null) return simplePieces(own, value, false);
  const pieces = Array.isArray(value)
    ? value.map((one): [string, unknown] => [own, one])
    : Object.entries(value).map(([key, one]): [string, unknown] => [sign(key), one]);
  // An empty part is refused, because it would address another resource.
  return pieces.length === 0 ? [[own, '']] : pieces;
}

/** The pieces of a value in the `simple` style: its commas are signs, and those within its parts are not. */
function simplePieces(first: string, value: unknown, explode: boolean): [sign: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return [[first, value]];
  const pieces = Array.isArray(value)
    ? value.map((one): [string, unknown] => ['', one])
    : Object.entries(value).map(([key, one]): [string, unknown] => [
        encodeURIComponent(key) + (explode ? '=' : ','),
        one,
      ]);
  if (pieces.length === 0) return [[first, '']];
  return pieces.map(([sign, one], index) => [`${index === 0 ? first : ','}${sign}`, one]);
}

const separators: Record<string, string> = { spaceDelimited: '%20', pipeDelimited: '%7C' };

/** Writes a value in its OpenAPI style, as pieces of a query. Separators inside items are encoded. */
export function queryPieces(
  how: Pick<Parameter, 'name' | 'style' | 'explode' | 'allowReserved'>,
  value: unknown,
): string[] {
  const { name, style, explode, allowReserved } = how;
  const written = (one: unknown) =>
    (allowReserved ? withReserved : encodeURIComponent)(parameterText(one).toWellFormed());
  const piece = (key: string, parts: readonly unknown[]) =>
    `${encodeURIComponent(key.toWellFormed())}=${parts.map(written).join(separators[style] ?? ',')}`;
  if (typeof value !== 'object' || value === null) return [piece(name, [value])];
  const fields = Object.entries(value).filter(([, one]) => one !== null && one !== undefined);
  if (style === 'deepObject')
    return fields.flatMap(([key, one]) => queryPieces({ ...how, name: `${name}[${key}]` }, one));
  if (Array.isArray(value)) return explode ? value.map((one) => piece(name, [one])) : [piece(name, value)];
  return explode ? fields.map(([key, one]) => piece(key, [one])) : [piece(name, fields.flat())];
}

/** Encodes a text for a query, but for the reserved characters that mean nothing there. */
function withReserved(text: string): string {
  return encodeURIComponent(text).replaceAll(/%(?:3A|2F|3F|40|24|2C|3B)/g, decodeURIComponent);
}

/** Serializes a value in the `simple` style: comma-separated, with objects as `key,value` or `key=value`. */
export function simple(value: unknown, explode: boolean): string {
  if (Array.isArray(value)) return value.map(parameterText).join(',');
  if (typeof value !== 'object' || value === null) return parameterText(value);
  return Object.entries(value)
    .map(([key, one]) => `${key}${explode ? '=' : ','}${parameterText(one)}`)
    .join(',');
}
