/** `pawl/inspect`: sessions in a page, live or as a file, and the Stately inspector. */

export { type Inspector, type InspectorOptions, inspector } from './inspector.ts';
export { type StatelyInspector, type StatelyInspectorOptions, statelyInspector } from './stately.ts';
export { type SessionFileOptions, sessionFile } from './tape/session-file.ts';
