export const nameRule = '1 to 64 characters from A-Z, a-z, 0-9, _ and -';

/** Matches the tool names that every provider accepts, except the one that no object can have as a field. */
export const toolNamePattern = /^(?!__proto__$)[A-Za-z0-9_-]{1,64}$/;
