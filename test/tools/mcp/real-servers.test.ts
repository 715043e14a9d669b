import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { McpServerConfig } from '../../../src/index.ts';
import { call, slugsOf, texts } from '../../support/mcp.ts';
import { callsIn, counters, report, runOverWire, tokensOf } from '../../support/session.ts';

const packageFile = (name: string) => createRequire(import.meta.url).resolve(name);

const everything = {
  command: process.execPath,
  args: [packageFile('@modelcontextprotocol/server-everything/dist/index.js')],
};

describe('real servers', () => {
  it('everything: text, numbers, structured content, images, resources and links become results for the model', async () => {
    const run = await runOverWire({
      script: [
        {
          calls: [
            call('every__echo', { message: 'hello' }),
            call('every__get-sum', { a: 2, b: 3 }),
            call('every__get-structured-content', { location: 'Chicago' }),
            call('every__get-tiny-image'),
            call('every__get-resource-links', { count: 2 }),
            call('every__get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
          ],
        },
        { calls: [call('every__echo', { message: 7 }), call('every__nope'), call('every__echo', '{"message')] },
        report(),
      ],
      definition: { mcpServers: { every: everything } },
    });
    const [echo, sum, structured, image, links, resource] = callsIn(run.result);
    expect(echo?.output).toEqual({ type: 'text', value: 'Echo: hello' });
    expect(sum?.output).toMatchObject({ value: expect.stringContaining('5') });
    expect(structured?.result.value).toMatchObject({ temperature: expect.any(Number) });
    expect(image?.output.type === 'content' && image.output.value.find((part) => part.type === 'file')).toMatchObject({
      mediaType: 'image/png',
    });
    expect(JSON.stringify(links?.output)).toContain('[resource ');
    expect(JSON.stringify(resource?.output)).toContain('[resource demo://');
    expect(slugsOf(run).slice(6, 9)).toEqual(['invalid_tool_input', 'unknown_tool', 'malformed_tool_call']);
    expect(run.result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 3,
        failedAttempts: 1,
        notices: 1,
        toolCalls: {
          requested: 10,
          answered: 10,
          executed: 6,
          succeeded: 6,
          acknowledged: 1,
          rejected: { invalid_tool_input: 1, unknown_tool: 1, malformed_tool_call: 1 },
        },
        reports: { attempted: 1 },
        tokens: tokensOf(3),
        costUsd: null,
        slugs: { invalid_tool_input: 1, unknown_tool: 1, malformed_tool_call: 1 },
      }),
    );
    expect(run.events.filter((event) => event.type === 'server.connected')).toHaveLength(1);
  });

  it('everything: progress becomes events, and a timeout cancels the call', async () => {
    const run = await runOverWire({
      script: [
        { calls: [call('every__trigger-long-running-operation', { duration: 0.2, steps: 2 })] },
        { calls: [call('every__trigger-long-running-operation', { duration: 60, steps: 1 })] },
        report(),
      ],
      definition: { mcpServers: { every: everything }, limits: { toolTimeoutMs: 1_500 } },
    });
    expect(run.events.filter((event) => event.type === 'tool.progressed').length).toBeGreaterThan(0);
    expect(slugsOf(run)).toEqual([null, 'tool_timeout', null]);
  });

  it('everything: the handlers answer requests from the server', async () => {
    const asked: string[] = [];
    const handlers: McpServerConfig['handlers'] = {
      sample: ({ messages }) => {
        asked.push(JSON.stringify(messages));
        return { model: 'm', role: 'assistant', content: { type: 'text', text: 'a sampled answer' } };
      },
      elicit: ({ message }) => {
        asked.push(message);
        return { action: 'decline' };
      },
    };
    const run = await runOverWire({
      script: [
        { calls: [call('every__trigger-sampling-request', { prompt: 'why?', maxTokens: 9 })] },
        { calls: [call('every__trigger-elicitation-request', {})] },
        report(),
      ],
      definition: { mcpServers: { every: { ...everything, handlers } } },
    });
    expect(slugsOf(run)).toEqual([null, null, null]);
    expect(asked).toEqual([expect.stringContaining('why?'), expect.stringMatching(/./)]);
    expect(texts(run)[0]).toContain('a sampled answer');
    expect(texts(run)[1]).toContain('decline');
  });

  it('filesystem: listing and reading work, an error is a failed result, and allow, deny and needsApproval apply', async () => {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-mcp-')));
    writeFileSync(join(home, 'a.txt'), 'the content');
    const files: McpServerConfig = {
      command: process.execPath,
      args: [packageFile('@modelcontextprotocol/server-filesystem/dist/index.js'), home],
      cwd: home,
      allow: ['list_directory', 'read_text_file', 'write_file'],
      deny: ['write_file'],
      needsApproval: ['read_text_file'],
    };
    const run = await runOverWire({
      script: [
        {
          calls: [call('files__list_directory', { path: '.' }), call('files__write_file', { path: 'b', content: '' })],
        },
        { calls: [call('files__read_text_file', { path: 'a.txt' }), call('files__list_directory', { path: '/' })] },
        report(),
      ],
      definition: { mcpServers: { files } },
      during: (event, session) => {
        if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
      },
    });
    expect(run.requests[0]?.body.tools?.map((one) => one.function?.name)).toEqual([
      'final_report',
      'files__read_text_file',
      'files__list_directory',
    ]);
    expect(slugsOf(run)).toEqual([null, 'unknown_tool', null, 'tool_exec_failed', null]);
    expect(texts(run)[0]).toContain('[FILE] a.txt');
    // T-6: the server sends it as text and as structured content; the model reads it once.
    expect(texts(run)[2]).toBe('the content');
    expect(texts(run)[3]).toContain('denied');
  });
});
