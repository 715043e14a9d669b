/**
 * The simulated MCP server's process: `node relay.mjs PORT KEY`. It decides nothing: what comes on its stdin goes to the
 * simulation, which says what it writes and how it ends. In JavaScript, since it starts twice as fast.
 */
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const [port = '', key = ''] = process.argv.slice(2);
const control = connect(Number(port), '127.0.0.1');
const report = (what) => control.write(`${JSON.stringify(what)}\n`);
report({ key, pid: process.pid });

createInterface(process.stdin).on('line', (line) => report({ line }));
process.stdin.on('end', () => report({ ended: true }));

createInterface(control).on('line', (text) => {
  const { says, shouts, exits, ignores, leaves, sync } = JSON.parse(text);
  if (says !== undefined) process.stdout.write(says);
  if (shouts !== undefined) process.stderr.write(shouts);
  if (ignores !== undefined) process.on('SIGTERM', () => {});
  if (leaves !== undefined) report({ left: spawn('sleep', ['600'], { stdio: 'inherit' }).pid });
  if (exits === 'SIGKILL') process.kill(process.pid, 'SIGKILL');
  else if (exits !== undefined) process.exit(exits);
  // By then, what has arrived on stdin was passed on.
  if (sync !== undefined) setImmediate(() => setImmediate(() => setImmediate(() => report({ synced: sync }))));
});
control.on('close', () => process.kill(process.pid, 'SIGKILL'));
