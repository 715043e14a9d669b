import { type Mode, modes, type Way, ways } from '../../test/simulation/run.ts';

/** Returns the number that `text` gives for `name`: at least `least`. Throws an error that says what is wrong. */
export function numberOf(name: string, text: string, least: number): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number) || number < least)
    throw new Error(`${name} must be a number of at least ${least}, but is "${text}"`);
  return number;
}

/** Returns an integer from 0, with which a simulation begins. */
export function seedOf(name: string, text: string): number {
  const seed = numberOf(name, text, 0);
  if (!Number.isInteger(seed)) throw new Error(`${name} must be an integer, but is "${text}"`);
  return seed;
}

/** Returns what of a simulation is real. */
export function modeOf(text: string): Mode {
  const mode = modes.find((one) => one === text);
  if (mode === undefined) throw new Error(`the mode must be one of ${modes.join(', ')}, but is "${text}"`);
  return mode;
}

/** Returns what may go wrong in a simulation. */
export function wayOf(text: string): Way {
  const way = ways.find((one) => one === text);
  if (way === undefined) throw new Error(`the way must be one of ${ways.join(', ')}, but is "${text}"`);
  return way;
}
