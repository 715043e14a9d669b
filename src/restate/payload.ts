/** The most that Restate stores as one value, in MiB. Its limit is 32; a larger value is retried forever. */
export const mostMebibytes = 30;

export function mebibytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '') / 2 ** 20;
}
