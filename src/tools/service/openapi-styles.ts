import type { JsonRecord } from './openapi-operation.ts';
import { filled, textOf } from './rest.ts';

/** A parameter of an operation, and how OpenAPI writes its value. */
export type Parameter = {
  name: string;
  in: string;
  /** The parameter's field in the tool's input: its name, unless two parameters share that name. */
  field: string;
  required: boolean;
  style: string;
  explode: boolean;
  schema: JsonRecord;
  description: string;
};

/** Fills in the parameters of a path, given by their fields. */
export function filledPath(
  template: string,
  parameters: readonly Parameter[],
  values: Readonly<Record<string, unknown>>,
): string {
  const pieces = new Map(parameters.map((one) => [one.name, pathPieces(one, values[one.field])]));
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

/** Serializes a query value in its OpenAPI style. */
export function queryPairs({ name, style, explode }: Parameter, value: unknown): [string, string][] {
  if (style === 'json') return [[name, JSON.stringify(value)]];
  if (Array.isArray(value)) {
    if (explode && style !== 'deepObject') return value.map((one) => [name, textOf(one)]);
    const separator = style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ',';
    return [[name, value.map(textOf).join(separator)]];
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (style === 'deepObject') return entries.map(([key, one]) => [`${name}[${key}]`, textOf(one)]);
    if (explode) return entries.map(([key, one]) => [key, textOf(one)]);
    return [[name, entries.flatMap(([key, one]) => [key, textOf(one)]).join(',')]];
  }
  return [[name, textOf(value)]];
}

/** Serializes a value in the `simple` style: comma-separated, with objects as `key,value` or `key=value`. */
export function simple(value: unknown, explode: boolean): string {
  if (Array.isArray(value)) return value.map(textOf).join(',');
  if (typeof value !== 'object' || value === null) return textOf(value);
  return Object.entries(value)
    .map(([key, one]) => `${key}${explode ? '=' : ','}${textOf(one)}`)
    .join(',');
}
