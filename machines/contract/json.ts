/** Plain JSON, the only data between `machines/` and `src/`, so it can be stored and read back (D-3, D-6). */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };
