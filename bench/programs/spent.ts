/** Prints what this process has spent, in ms of CPU; fails unless the session took the turns that it was to take. */
export function spent(taken: number, turns: number): void {
  if (taken !== turns) throw new Error(`${taken} turns were taken instead of ${turns}`);
  const { user, system } = process.cpuUsage();
  process.stdout.write(`${(user + system) / 1_000}\n`);
}
