import { secretHeaders, secretsOfServer } from '../../secrets/credentials.ts';
import { redact, withoutSecrets } from '../../secrets/redact.ts';
import { longSecrets } from '../../secrets/spellings.ts';
import type { McpServerConfig } from './config.ts';

/** Credentials that are kept in mind: a token may still be in use when the next one is sent. */
const mostKept = 16;

/** The credentials that requests to a server send and its configuration does not hold, the last few (S-5). */
export class SentSecrets {
  private readonly config: McpServerConfig;
  private kept: readonly string[] = [];

  constructor(config: McpServerConfig) {
    this.config = config;
  }

  /** Takes in a header that a request sends. */
  note(name: string, value: string): void {
    const secrets = secretHeaders({ [name]: value });
    this.kept = [...this.kept.filter((secret) => !secrets.includes(secret)), ...secrets].slice(-mostKept);
  }

  get all(): readonly string[] {
    return longSecrets(this.kept);
  }

  /** Takes all credentials of the server out of a text. */
  removedFrom(text: string): string {
    return redact(text, [...secretsOfServer(this.config), ...this.all]);
  }

  /** Takes what was sent out of what the server gave. */
  without<T>(value: T): T {
    return withoutSecrets(value, this.all);
  }
}
