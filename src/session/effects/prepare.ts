import type { PrepareOutcome, Slug } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { RequestMeter } from '../../context/request-meter.ts';
import type { Clock } from '../../host/clock.ts';
import { inTime, type TaskLimits } from '../../host/deadline.ts';
import { expected, messageOf } from '../../input/errors.ts';
import { unavailableTargets } from '../../model/targets.ts';
import { Conversation, lastPrompt } from '../../observe/conversation.ts';
import { redact } from '../../secrets/redact.ts';
import type { Checks } from './checks.ts';

export type PrepareParts = {
  agent: Agent;
  prompt: string | null;
  contextFor: (speaker: string | null) => unknown;
  /** Opens the tools. Returns null, or why some are missing. */
  open: (signal: AbortSignal) => Promise<string | null>;
  conversation: Conversation;
  checks: Checks;
  meter: RequestMeter;
  clock: Clock;
  secrets: readonly string[];
};

/** Runs the prepare effect: looks for the models, opens the tools, and makes and measures the first request's parts. */
export async function prepare(
  { agent, prompt, contextFor, open, conversation, checks, meter, clock, secrets }: PrepareParts,
  signal: AbortSignal,
): Promise<PrepareOutcome> {
  const { limits, targets, definition } = agent;
  const unprepared = (slug: Slug, message: string) => {
    return { ok: false as const, slug, message: redact(message, secrets) };
  };
  const unavailable = unavailableTargets(targets);
  if (unavailable.length === targets.length) {
    return unprepared('target_unavailable', unavailable.map(({ message }) => message).join(' '));
  }
  const missing = await open(signal);
  if (missing !== null) return unprepared('tools_unavailable', missing);
  const input = await checks.input(conversation.messages, signal);
  if (input.kind !== 'passed') {
    return unprepared(input.kind === 'denied' ? 'input_denied' : 'check_failed', input.reason);
  }
  const messages = input.value;
  const task = messages === null ? prompt : lastPrompt(messages);
  try {
    const preparing = { clock, timeoutMs: limits.prepareTimeoutMs, signal };
    const instructions = await madeInstructions(
      definition.instructions ?? null,
      { prompt: task, context: contextFor(null) },
      preparing,
    );
    const own = messages === null ? meter : meter.of(new Conversation(messages));
    return {
      ok: true,
      instructions,
      messages,
      unavailable,
      ...own.first(instructions),
    };
  } catch (error) {
    return unprepared('turn_not_prepared', `instructions() failed: ${messageOf(error)}`);
  }
}

/** Returns the instructions, made for this session if they are a function. */
export async function madeInstructions(
  instructions: Agent['definition']['instructions'] | null,
  input: { prompt: string | null; context: unknown },
  limits: TaskLimits,
): Promise<string | null> {
  if (typeof instructions !== 'function') return instructions ?? null;
  const late = `it did not return within ${limits.timeoutMs} ms`;
  const made: unknown = await inTime(limits, late, () => instructions(input));
  if (typeof made !== 'string') throw new Error(expected('the result', made, 'a string'));
  return made;
}
