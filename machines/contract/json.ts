/** Plain JSON: all that crosses between the two rooms, so that it can be written down and read back (D-3, D-6). */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };
