import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Returns every TypeScript file under `folder`, with its text. */
function sources(folder: string): { path: string; text: string }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), 'utf8') }));
}

const importsOf = (text: string) => [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map((match) => match[1] ?? '');

describe('the two rooms', () => {
  it('D-1: machines/ imports only itself and xstate and uses no clock, randomness or environment', () => {
    for (const { path, text } of sources('machines')) {
      for (const name of importsOf(text))
        expect([path, /^(\.\.?\/|xstate$)/.test(name) && !name.includes('src/')]).toEqual([path, true]);
      const acts = text.match(/Date\.now|new Date\(|Math\.random|setTimeout|process\.|console\.|fromPromise|\bafter:/);
      expect([path, acts?.[0] ?? null]).toEqual([path, null]);
    }
  });

  it('third-party packages are imported only in their adapters', () => {
    const homes: Record<string, RegExp> = {
      ai: /^src\/(model\/|ui\/|schema\/schema\.ts|vocabulary\/sdk-messages\.ts|tools\/(local|service\/(rest|foreign-input))\.ts)/,
      'fast-deep-equal': /^src\/(tools\/policies|ui\/model-output)\.ts$/,
      marked: /^src\/platform\/markdown\.ts$/,
      pino: /^src\/observe\/log\/logger\.ts$/,
      ajv: /^src\/schema\/(own-schema|foreign-schema|json-schema-check)\.ts$/,
      re2js: /^src\/schema\/linear-pattern\.ts$/,
      yaml: /^src\/(cli\/|tools\/service\/openapi-document\.ts)/,
      undici: /^src\/http\/(http-request|undici-fetch)\.ts$/,
      '@seriousme': /^src\/tools\/service\/openapi-document\.ts$/,
      '@modelcontextprotocol': /^src\/(tools\/mcp\/|serve\/)/,
      '@restatedev': /^src\/restate\//,
      'fast-check': /^src\/testing\/fast-check\.ts$/,
      pg: /^src\/journal\/postgres\/server\.ts$/,
      xstate:
        /^src\/(host\/(run-machine|hearing)\.ts|session\/(wiring\/session-machine|options|replay\/offline-player)\.ts|inspect\/|workflow\/run\/run-workflow\.ts)/,
      '@agentclientprotocol': /^src\/acp\//,
      '@hono': /^src\/serve\/node-server\.ts$/,
      '@opentelemetry': /^src\/otel\//,
      preact: /^src\/inspect\/page\//,
      '@statelyai': /^src\/inspect\/stately\.ts$/,
    };
    for (const { path, text } of sources('src')) {
      for (const name of importsOf(text)) {
        const home = homes[name.split('/')[0] ?? ''];
        if (home !== undefined) expect([path, name, home.test(path)]).toEqual([path, name, true]);
      }
    }
  });
});
