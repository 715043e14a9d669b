/** Times, numbers and names as the page shows them. */

export function clock(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** How long ago something was, in the largest unit that fits. */
export function ago(at: number): string {
  const ms = Math.max(0, Date.now() - at);
  if (ms < 60_000) return 'just now';
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ago`;
  if (ms < 30 * 86_400_000) return `${Math.floor(ms / 86_400_000)} d ago`;
  return new Date(at).toISOString().slice(0, 10);
}

/** An amount in US dollars; null where a price is unknown. */
export function dollars(costUsd: number | null): string {
  return costUsd === null ? 'no price' : `$${costUsd.toFixed(4)}`;
}

export function short(value: number): string {
  if (value < 10_000) return String(value);
  return value < 1_000_000 ? `${(value / 1_000).toFixed(1)} k` : `${(value / 1_000_000).toFixed(1)} M`;
}

/** The last part of a state's id. */
export function stateName(id: string): string {
  return id.split('.').at(-1) ?? id;
}

export function machineName(machine: string): string {
  return machine === 'toolCall' ? 'tool call' : machine;
}

/** An event as one reads it. */
export function eventName(event: string): string {
  const actor = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event);
  if (actor === null) return event;
  return `${actor[2]} ${actor[1] === 'done' ? 'done' : 'threw'}`;
}
