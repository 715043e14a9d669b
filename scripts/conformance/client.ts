/**
 * The client that the MCP conformance suite runs: `node client.ts URL`. A session with that server calls each tool that it
 * is offered once, with the input that the scenario gives or that its schema asks for, and reports.
 */
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { defineAgent, runSession } from 'pawl';
import { type RehearsalRequest, rehearsalModel } from 'pawl/testing';
import { providerFor } from './oauth.ts';

const url = process.argv.at(-1) ?? '';
const { toolCalls, ...context }: { toolCalls?: Call[] } & Record<string, unknown> = JSON.parse(
  process.env.MCP_CONFORMANCE_CONTEXT ?? '{}',
);

type Call = { name: string; arguments?: Record<string, unknown> };
type Schema = { type?: string | string[]; properties?: Record<string, Schema>; required?: string[]; default?: unknown };

function sample({ type, properties = {}, default: given }: Schema): unknown {
  if (given !== undefined) return given;
  switch ([type].flat()[0]) {
    case 'string':
      return 'x';
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, sample(inner)]));
    default:
      return null;
  }
}

const given = (input: object) => Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));

function callsOf({ options }: RehearsalRequest): { name: string; input: unknown }[] {
  const offered = (options.tools ?? []).filter((tool): tool is LanguageModelV4FunctionTool => tool.type === 'function');
  const own = offered.filter(({ name }) => name.startsWith('suite__'));
  if (toolCalls === undefined)
    return own.map(({ name, inputSchema }) => ({
      name,
      input: sample({ type: 'object', ...(inputSchema as Schema) }),
    }));
  return (
    toolCalls
      // What is null is not given: a session refuses an input that the tool's schema does.
      .map(({ name, arguments: input = {} }) => ({ name: `suite__${name}`, input: given(input) }))
      .filter(({ name }) => own.some((tool) => tool.name === name))
  );
}

const model = rehearsalModel((request) => {
  const calls = request.index === 0 ? callsOf(request) : [];
  return calls.length > 0 ? { calls } : { calls: [{ name: 'final_report', input: { content: 'done' } }] };
});
const provider = process.env.MCP_CONFORMANCE_SCENARIO?.startsWith('auth/') ? providerFor(context) : null;
const agent = defineAgent({
  name: 'conformance',
  models: [model],
  report: { format: 'text' },
  mcpServers: {
    suite: {
      url,
      ...(provider !== null && { auth: provider }),
      handlers: {
        elicit: (asked) => ({
          action: 'accept',
          content: 'requestedSchema' in asked ? Object(sample(Object(asked.requestedSchema))) : {},
        }),
      },
    },
  },
});

for (let left = 3; left > 0; left -= 1) {
  const result = await runSession(agent, { prompt: 'Call each tool.', logger: false });
  process.stdout.write(`${result.status} ${result.slugs.join(' ')} ${result.failure?.detail ?? ''}\n`);
  for (const { calls } of result.turns.flatMap(({ attempts }) => attempts))
    for (const { name, result: answer } of calls) process.stdout.write(`${name}: ${JSON.stringify(answer)}\n`);
  // A person has permitted it meanwhile.
  if (!(await provider?.permitted(url))) break;
}
