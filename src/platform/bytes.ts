const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Characters that are turned into base64 at once. */
const chunk = 32_768;

/** Returns the length of `text` in bytes of UTF-8. */
export function byteLength(text: string): number {
  return globalThis.Buffer === undefined ? encoder.encode(text).length : Buffer.byteLength(text);
}

export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

export function utf8Text(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Bytes as base64; a text is base64 already. */
export function base64Of(data: string | Uint8Array | ArrayBuffer): string {
  return typeof data === 'string' ? data : toBase64(data);
}

export function toBase64(data: Uint8Array | ArrayBuffer): string {
  const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
  if (globalThis.Buffer !== undefined)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  let binary = '';
  for (let start = 0; start < bytes.length; start += chunk)
    binary += String.fromCharCode(...bytes.subarray(start, start + chunk));
  return btoa(binary);
}
