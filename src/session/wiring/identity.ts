import { contextOf } from '../../agent/context.ts';
import type { Agent } from '../../agent/definition.ts';
import { noteSecrets, secretsOf } from '../../agent/secrets.ts';
import type { MakeDriver } from '../../host/driver.ts';
import type { SessionHead } from '../../journal/journal.ts';
import type { ScopeLog } from '../../journal/scope-log.ts';
import type { StatedSource } from '../../observe/observer.ts';
import type { Parent } from '../../observe/publisher.ts';
import { type Lineage, root } from '../sub-agents/lineage.ts';
import type { Surroundings } from './surroundings.ts';

/** What a session is made of. */
export type SessionParts<Report> = {
  agent: Agent<Report>;
  around: Surroundings;
  /** What the session begins with, or began with before a crash. */
  head: SessionHead;
  /** Where the session is written down; null for a session in memory. */
  log: ScopeLog | null;
  lineage?: Lineage;
  parent?: Parent;
  /** A replay; see `Observer`. */
  replay?: StatedSource;
  /** Resolves when the replay is over: no end is concluded before. */
  played?: Promise<void>;
  /** Default: a driver in memory, or one that writes to the journal. */
  driver?: MakeDriver;
};

/** Who a session is: what its observer, its effects and its driver read, and none of them changes. */
export type SessionIdentity<Report = unknown> = Pick<
  SessionParts<Report>,
  'agent' | 'around' | 'head' | 'log' | 'driver'
> & {
  lineage: Lineage;
  /** The credentials of its agent, and those of the sessions above (S-5). */
  secrets: readonly string[];
  /** The context for an agent of the session, by its name in `handoffs`; null for the agent that began. */
  contextFor: (speaker: string | null) => unknown;
};

/** Returns the identity of a session. Throws `invalid_options` for a context that does not fit. */
export function identityOf<Report>({
  agent,
  around,
  head,
  log,
  driver,
  lineage = root,
}: SessionParts<Report>): SessionIdentity<Report> {
  const secrets = secretsOf(agent.definition, lineage.secrets);
  noteSecrets(secrets);
  return {
    agent,
    around,
    head,
    log,
    lineage,
    ...(driver !== undefined && { driver }),
    secrets,
    contextFor: contextsOf(agent, around.context),
  };
}

/** Returns what gives each agent of a session its context, as its own schema makes it. */
function contextsOf(agent: Agent, given: unknown): (speaker: string | null) => unknown {
  const contexts = new Map(
    agent.voices.map(({ name, definition, checkContext }) => [
      name,
      contextOf({ name: definition.name, checkContext }, given),
    ]),
  );
  return (speaker) => contexts.get(speaker);
}
