/** What a store holds of a gate. `version` is 0 for a gate that it does not know; `now` is epoch ms on the store's clock. */
export type KeptGate = { version: number; state: string; now: number };

/**
 * Where processes keep the shared part of a gate (P-7g): one text by name. Only a process that has read its latest version
 * may replace it.
 */
export type GateStore = {
  read(gate: string): Promise<KeptGate>;
  /** Replaces the state, unless it is not the one of `version` any more. Returns whether it did. Atomic. */
  write(gate: string, version: number, state: string): Promise<boolean>;
};

export const unknownGate = { version: 0, state: '' };

/** Keeps gates in memory. */
export function memoryGates(): GateStore {
  const gates = new Map<string, Omit<KeptGate, 'now'>>();
  const kept = (gate: string) => gates.get(gate) ?? unknownGate;
  return {
    read: async (gate) => ({ ...kept(gate), now: Date.now() }),
    write: async (gate, version, state) => {
      if (kept(gate).version !== version) return false;
      gates.set(gate, { version: version + 1, state });
      return true;
    },
  };
}
