/** Returns the text of a block that was gzipped and written in base64. */
export async function unpacked(base64: string): Promise<string> {
  const binary = atob(base64.trim());
  const bytes = Uint8Array.from(binary, (one) => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}
