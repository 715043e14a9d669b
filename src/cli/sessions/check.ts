import { defineAgent } from '../../agent/define-agent.ts';
import { counted, tame } from '../../platform/text.ts';
import { type CheckedSession, checkSessions } from '../../session/recovery/check-sessions.ts';
import { readAgentFile } from '../agent-file.ts';
import { exitCodes, type Flags, UsageError } from '../command-line.ts';
import { withJournal } from './opened-journal.ts';

/** `pawl check`: plays recorded sessions on this code and this agent, and says what would be otherwise. Resumes none. */
export async function checkCommand(rest: readonly string[], flags: Flags): Promise<number> {
  if (flags.agent === undefined || rest.length > 0)
    throw new UsageError('Pass the agent of the sessions: pawl check --agent FILE --journal FILE.');
  const agent = defineAgent(await readAgentFile(flags.agent));
  const { checked, others } = await withJournal(flags, async (journal) => ({
    checked: await checkSessions([agent], { journal, ended: flags.all }),
    others: (await journal.list({})).filter((row) => row.agent !== agent.name).length,
  }));
  const isUnlike = ({ differences }: CheckedSession) => differences.length > 0;
  const text = flags.json ? JSON.stringify(checked) : storyOf(checked, agent.name, others);
  process.stdout.write(`${text}\n`);
  return checked.some(isUnlike) ? exitCodes.failed : exitCodes.succeeded;
}

function storyOf(checked: readonly CheckedSession[], agent: string, others: number): string {
  const unfit = checked.filter(({ isFit }) => !isFit).length;
  const rows = checked.flatMap(({ sessionId, status, isFit, differences }) =>
    differences.length === 0
      ? []
      : [
          `${tame(sessionId)}  ${status}  ${isFit ? 'resumes, with differences' : 'is refused'}`,
          ...differences.map(({ kind, what }) => `  ${kind.padEnd(8)}  ${tame(what).replaceAll('\n', ' ')}`),
        ],
  );
  const sum = `${counted(checked.length, 'session')} of ${agent} checked, ${unfit} refused, ${checked.filter(({ differences }) => differences.length > 0).length} with differences.`;
  const left = others === 0 ? '' : ` ${counted(others, 'session')} of other agents left out.`;
  return [...rows, `${sum}${left}`].join('\n');
}
