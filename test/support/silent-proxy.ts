import { connect, createServer, type Socket } from 'node:net';

/** A network between a client and a server on loopback, which can lose all that is sent. */
export type SilentProxy = {
  port: number;
  /** From now on, nothing arrives on either side, and no connection is closed. */
  silence(): void;
  /** Closes what was open, and passes on again what new connections send. */
  restore(): void;
  stop(): Promise<void>;
};

export async function startSilentProxy(serverPort: number): Promise<SilentProxy> {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const passOn = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (data) => {
      if (!isSilent) to.write(data);
    });
    from.on('error', () => from.destroy());
    from.on('close', () => {
      sockets.delete(from);
      if (!isSilent) to.destroy();
    });
  };
  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1');
    passOn(client, upstream);
    passOn(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const closeAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    silence: () => {
      isSilent = true;
    },
    restore: () => {
      closeAll();
      isSilent = false;
    },
    stop: async () => {
      closeAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
