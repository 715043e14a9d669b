import * as published from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, it } from 'vitest';
import { attributes, metrics, operations, providerAndModel } from '../../src/otel/conventions.ts';
import { traced } from '../support/otel.ts';
import { report } from '../support/session.ts';
import { search } from '../support/tools.ts';

describe('S-4: pawl/otel', () => {
  it('metrics: durations, tokens, cost, first pieces, slugs, collapses and answers', async () => {
    const { points } = await traced({
      script: [
        {
          calls: [
            { name: 'search', input: { q: 'x' } },
            { name: 'made_up_7', input: {} },
          ],
        },
        report({ wrong: true } as never),
        report(),
      ],
      definition: {
        name: 'librarian',
        tools: { search },
        pricing: { 'scripted:scripted': { input: 1_000_000, output: 0 } },
      },
    });
    const all = await points();
    const sum = (name: string, of: object = {}) =>
      all
        .filter((point) => point.name === name && Object.entries(of).every(([key, value]) => point.of[key] === value))
        .map(({ value }) => (typeof value === 'number' ? value : [value.count, value.sum]));
    const chat = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'scripted',
    };
    expect(sum('pawl.sessions', { 'pawl.status': 'succeeded', 'gen_ai.agent.name': 'librarian' })).toEqual([1]);
    expect(sum('pawl.requests', chat)).toEqual([3]);
    expect(sum('pawl.cost', chat)).toEqual([30]);
    expect(sum('gen_ai.client.token.usage', { ...chat, 'gen_ai.token.type': 'input' })).toEqual([[3, 30]]);
    expect(sum('gen_ai.client.token.usage', { ...chat, 'gen_ai.token.type': 'output' })).toEqual([[3, 15]]);
    expect(sum('gen_ai.client.operation.time_to_first_chunk', chat)).toMatchObject([[3, 0]]);
    expect(sum('gen_ai.client.operation.duration', { 'gen_ai.operation.name': 'chat' })).toMatchObject([
      [2, 0],
      [1, 0],
    ]);
    expect(sum('gen_ai.client.operation.duration', { 'gen_ai.operation.name': 'execute_tool' })).toMatchObject([
      [1, 0],
    ]);
    expect(sum('gen_ai.client.operation.duration', { 'gen_ai.operation.name': 'invoke_agent' })).toMatchObject([
      [1, 0],
    ]);
    // An attempt has no metric of its own: that is the client's.
    expect(sum('gen_ai.invoke_agent.duration')).toMatchObject([[1, 0]]);
    expect(sum('gen_ai.execute_tool.duration', { 'gen_ai.tool.name': 'search' })).toMatchObject([[1, 0]]);
    expect(sum('gen_ai.client.operation.time_per_output_chunk', chat)).toMatchObject([[expect.any(Number), 0]]);
    expect(sum('pawl.collapses', { 'pawl.reason': 'final_report_rejected' })).toEqual([1]);
    expect(sum('pawl.answers', { 'gen_ai.tool.name': 'search', 'pawl.reason': 'executed' })).toEqual([1]);
    // What a model makes up must not become a metric of its own.
    expect(sum('pawl.answers', { 'gen_ai.tool.name': 'unknown', 'pawl.reason': 'unknown_tool' })).toEqual([1]);
    expect(JSON.stringify(all)).not.toContain('made_up_7');
    const broken = await traced({
      script: [{ calls: [{ name: 'made_up_8', input: {} }], cut: { afterBytes: 600, how: 'end' } }, report()],
      definition: { tools: { search } },
    });
    expect(broken.result.counters.toolCalls.rejected).toEqual({ stream_interrupted: 1 });
    expect(JSON.stringify(await broken.points())).not.toContain('made_up_8');
  });

  it('every name is one of the conventions of OpenTelemetry', () => {
    const known = new Set<unknown>(Object.values(published));
    const used = [...Object.values(attributes), ...Object.values(metrics), ...Object.values(operations)];
    // The package lacks what the conventions' own repository has added since.
    expect(used.filter((name) => !known.has(name))).toEqual([operations.plan]);
    const providers = [
      'openai',
      'anthropic',
      'google',
      'google-vertex',
      'mistral',
      'xai',
      'groq',
      'azure',
      'amazon-bedrock',
    ];
    expect(providers.filter((one) => !known.has(providerAndModel(`${one}:m`).provider))).toEqual([]);
  });
});
