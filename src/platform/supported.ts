/** Refuses an old Node with one sentence, before anything else of `pawl` is evaluated. */
const [major = 0, minor = 0] = (globalThis.process?.versions?.node ?? '').split('.').map(Number);
if (major > 0 && (major < 22 || (major === 22 && minor < 13)))
  throw new Error(`Pawl needs Node 22.13 or later; this is Node ${process.versions.node}.`);

export {};
