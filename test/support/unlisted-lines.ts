/**
 * What the lines of a test have that the table of all lines has not; `log-lines.setup.ts` expects nothing. In a file of its
 * own: mutants of what a setup file loads are not tried.
 */
export const unlisted: string[] = [];
