#!/usr/bin/env node
/** The command `pawl`: refuses an old Node with one sentence, which the rest of the command would not even parse. */
await import('../platform/supported.ts').catch((error: Error) => {
  process.stderr.write(`pawl: ${error.message}\n`);
  process.exit(2);
});
const { runAndExit } = await import('./command.ts');
await runAndExit(process.argv.slice(2));

export {};
