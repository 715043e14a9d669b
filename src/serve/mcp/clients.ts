/** A connected client; `calls` counts its unanswered requests. */
export type Client = { transport: { close(): Promise<void> }; address: string; calls: number };

const mostClients = 1_000;

/** The clients by session id, the least recently used first. */
export class Clients<One extends Client> {
  private readonly byId = new Map<string, One>();

  /**
   * Adds a client. Clients may leave without notice, so beyond the most one is dropped: the oldest idle one of the
   * address that has the most idle ones, so that no address can push out the clients of another.
   */
  add(id: string, client: One): void {
    this.byId.set(id, client);
    if (this.byId.size <= mostClients) return;
    const idle = [...this.byId].filter(([, one]) => one !== client && one.calls === 0);
    const counts = new Map<string, number>();
    for (const [, { address }] of idle) counts.set(address, (counts.get(address) ?? 0) + 1);
    const [most] = [...counts].sort(([, one], [, other]) => other - one)[0] ?? [];
    const [dropped, its] = idle.find(([, { address }]) => address === most) ?? [];
    if (dropped === undefined) return;
    this.byId.delete(dropped);
    void its?.transport.close();
  }

  /** Returns a client, and makes it the most recently used. */
  use(id: string): One | undefined {
    const client = this.byId.get(id);
    if (client !== undefined && this.byId.delete(id)) this.byId.set(id, client);
    return client;
  }

  remove(id: string): void {
    this.byId.delete(id);
  }

  all(): One[] {
    return [...this.byId.values()];
  }
}
