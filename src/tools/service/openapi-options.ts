import type { HttpPolicy } from '../../http/http-policy.ts';
import type { RestAuth } from './rest-auth.ts';

export type OpenApiOptions = HttpPolicy & {
  /** Operations to include: ids, or `GET /pets/{id}`; default: all. */
  include?: readonly string[];
  /** Operations to leave out. */
  exclude?: readonly string[];
  /** The base URL of the service; default: the document's first server. */
  baseUrl?: string;
  auth?: RestAuth;
  /** Operations that need approval; default: none. */
  needsApproval?: boolean | readonly string[];
};
