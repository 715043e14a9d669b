import type { Agent } from '../../agent/definition.ts';
import { withPeer } from '../../input/peer.ts';
import { toAgent } from '../../ui/agent/to-agent.ts';
import { exitCodes, type Flags, UsageError } from '../command-line.ts';
import { commandLogger } from '../log.ts';

/** `pawl chat --tui`: the conversation in the AI SDK's full-screen terminal interface. */
export async function terminalChat(agent: Agent, flags: Flags): Promise<number> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) throw new UsageError('pawl chat --tui needs a terminal.');
  const { runAgentTUI } = await withPeer('@ai-sdk/tui', () => import('@ai-sdk/tui'));
  // What is logged would stand in the middle of the picture.
  const logger = flags.logLevel === undefined ? false : commandLogger(flags, { isShown: true });
  // It brings an `ai` of its own, whose types differ.
  await runAgentTUI({ agent: toAgent(agent, { logger }) as never, title: agent.name });
  return exitCodes.succeeded;
}
