import type {
  CreateMessageRequest,
  CreateMessageResult,
  ElicitRequest,
  ElicitResult,
  OAuthClientProvider,
  Transport,
} from '@modelcontextprotocol/client';

/** Options common to all kinds of MCP server. */
export type McpServerOptions = {
  /** Whether a session continues without the server if it is unavailable; default: false. */
  optional?: boolean;
  /** Names of the server's tools to offer; default: all. */
  allow?: readonly string[];
  /** Names of the server's tools to leave out. */
  deny?: readonly string[];
  /** Tools that need approval: all, or the named ones; default: none. */
  needsApproval?: boolean | readonly string[];
  /** Tools whose interrupted calls run again after a crash (D-4): all, or the named ones; default: none. */
  idempotent?: boolean | readonly string[];
  /** The timeout of its calls in ms, or of those to the named tools; default: the agent's `toolTimeoutMs`. */
  timeoutMs?: number | Readonly<Record<string, number>>;
  /**
   * Handle the server's elicitation and sampling requests, which are otherwise declined. `elicit: 'ask'`: the session's user
   * is asked, by the event `tool.asked`, and answers by `Session.answer`, within `limits.clientToolTimeoutMs`.
   */
  handlers?: {
    elicit?: 'ask' | ((request: ElicitRequest['params']) => ElicitResult | Promise<ElicitResult>);
    sample?: (request: CreateMessageRequest['params']) => CreateMessageResult | Promise<CreateMessageResult>;
  };
};

/** Headers of requests to a server, by name. A function is asked for them at each request. */
type Headers = Record<string, string>;

/**
 * How a remote server knows its client: a function that gives a bearer token, asked at each request, or a provider of the MCP
 * SDK, which gets, keeps and renews tokens by OAuth. Tokens are removed from what the server says (S-5).
 */
export type McpAuth = OAuthClientProvider | (() => string | undefined | Promise<string | undefined>);

/**
 * An MCP server: a stdio process (`env` extends a few harmless variables of this process), a streamable HTTP
 * endpoint, or a ready-made transport. A function creates a new transport after the connection is lost.
 */
export type McpServerConfig = McpServerOptions &
  (
    | { command: string; args?: readonly string[]; env?: Record<string, string>; cwd?: string }
    | { url: string; headers?: Headers | (() => Headers | Promise<Headers>); auth?: McpAuth }
    | { transport: Transport | (() => Transport) }
  );
