import type { JournaledSession } from '../../journal/journal.ts';
import { redact, redactJson } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';

/** Returns a session's row without secrets, which its metadata may hold. */
export function cleanRow(row: JournaledSession, secrets: readonly string[]): JournaledSession {
  const written = writtenSecrets(secrets);
  const { agent, metadata, sessionId } = row;
  return {
    ...row,
    agent: redact(agent, written),
    metadata: redactJson({ ...metadata }, written) as JournaledSession['metadata'],
    sessionId,
  };
}

/** Returns a growing text without secrets and without its last word, which may be the start of one. */
export function soFar(text: string, secrets: readonly string[]): string {
  let end = text.length;
  while (end > 0 && /\S/.test(text.charAt(end - 1))) end -= 1;
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, end); length > 0; length -= 1) {
      if (!text.slice(0, end).endsWith(secret.slice(0, length))) continue;
      end -= length;
      break;
    }
  }
  return redact(text.slice(0, end), secrets);
}
