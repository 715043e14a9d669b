import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';

/** A message of PostgreSQL's protocol: its type, its length, and what it says. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

const accepted = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);
const shutDown = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'));
const noRows = Buffer.concat([
  message('1', Buffer.alloc(0)),
  message('2', Buffer.alloc(0)),
  message('n', Buffer.alloc(0)),
  message('C', Buffer.from('SELECT 0\0')),
  message('Z', Buffer.from('I')),
]);

/** The packets that the server sends on each connection, and the error code of the journal. The last server has no tables. */
const packets: [string, readonly Buffer[], string][] = [
  ['in the packet that accepts the connection', [Buffer.concat([accepted, shutDown])], 'journal_failed'],
  ['when it gets a statement', [accepted, shutDown], 'journal_failed'],
  ['in the packet that answers a statement', [accepted, Buffer.concat([noRows, shutDown])], 'invalid_journal'],
];

// An unhandled `error` event would end the process; Vitest reports it, and this file fails.
it.each(packets)(
  'D-3: a server that shuts down %s fails a statement at most, never the process',
  async (_, packets, code) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      let next = 0;
      socket.on('error', () => undefined);
      socket.on('data', () => {
        const packet = packets[next];
        next += 1;
        if (packet === undefined) return;
        socket.write(packet);
        if (next === packets.length) socket.end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const journal = postgresJournal(`postgres://user@127.0.0.1:${port}/database`);
    onTestFinished(async () => {
      await journal.close();
      for (const socket of sockets) socket.destroy();
      server.close();
    });

    await expect(journal.list({})).rejects.toMatchObject({ code });

    expect(sockets.length).toBeGreaterThan(0);
  },
);
