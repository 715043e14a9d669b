import { messageOf } from '../../input/errors.ts';

/** Callbacks for the users of a connection. */
export type McpListener = {
  /** `onTools`: the tool list changed. `onLost`: the connection was lost; the next call reconnects. */
  onTools: () => void;
  onLost: (message: string) => void;
  onDebug: (line: string) => void;
  /** A tool was left out because it cannot be used. */
  onLeftOut: (reason: string) => void;
};

/** Tells what went wrong beside the calls. */
export function inform(listeners: Iterable<McpListener>, error: unknown): void {
  for (const listener of listeners) listener.onDebug(messageOf(error));
}

/** A listener that is told what a server says, or an error holds of its words, without what it was sent. */
export function cleaned(listener: McpListener, removed: (text: string) => string): McpListener {
  return {
    onTools: listener.onTools,
    onLost: (message) => listener.onLost(removed(message)),
    onDebug: (line) => listener.onDebug(removed(line)),
    onLeftOut: (reason) => listener.onLeftOut(removed(reason)),
  };
}
