import type { HttpPolicy } from '../../http/http-policy.ts';
import type { RestAuth } from './rest-auth.ts';

export type OpenApiOptions = HttpPolicy & {
  /** Operations to include: ids, or `GET /pets/{id}`; default: all. */
  include?: readonly string[];
  /** Operations to leave out. */
  exclude?: readonly string[];
  /** The base URL of the service; default: the document's first server. */
  baseUrl?: string;
  /** A key without a name is sent as the document's own key scheme requires. */
  auth?: RestAuth | { key: string };
  /** Operations that need approval; default: none. */
  needsApproval?: boolean | readonly string[];
};
