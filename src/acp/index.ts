export type { AcpOptions } from './options.ts';
export { type ServedAcp, serveAcp } from './serve-acp.ts';
