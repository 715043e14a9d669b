import { type Agent, defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from './session.ts';

/** An agent that asks its one sub-agent once, and reports. */
export function askingAgent(name: string, below: Agent): Agent {
  const ask = { calls: [{ name, input: { prompt: 'Help.', reason: 'It is much.' } }] };
  const model = rehearsalModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? report() : ask));
  return defineAgent({ name: 'above', models: [model], agents: { [name]: below } });
}
