/** The machines' drawings and what is in them, as `npm run build` takes them from the machines. */
export type Pictures = {
  /** The version of the machines that are drawn. */
  machines: string;
  /** SVG, by name. */
  drawings: Record<string, string>;
  states: Record<string, { description: string; rules: string[] }>;
  /** By their names. `target` is null for an arrow that stays. */
  arrows: Record<string, PicturedArrow>;
  /** The sentences of the specification, by rule id. */
  rules: Record<string, string>;
};

export type PicturedArrow = {
  /** Its machine, and its number there. */
  machine: string;
  number: number;
  source: string;
  target: string | null;
  /** The XState event type; empty for `always`. */
  event: string;
  guard: string;
  actions: string[];
  rules: string[];
};
