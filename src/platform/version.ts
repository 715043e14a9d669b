/** The version of this package: what servers and clients say of themselves. A bundle holds no `package.json` to read. */
export const packageVersion = '0.1.0';
