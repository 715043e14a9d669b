/** LangGraph's checkpointer in memory, written to a file whenever it changes, so that it outlives the process. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { MemorySaver } from '@langchain/langgraph';

const packed = (_, value) => (value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('base64') } : value);
const unpacked = (_, value) =>
  typeof value?.bytes === 'string' ? new Uint8Array(Buffer.from(value.bytes, 'base64')) : value;

export class FileSaver extends MemorySaver {
  constructor(file) {
    super();
    this.file = file;
    if (existsSync(file)) Object.assign(this, JSON.parse(readFileSync(file, 'utf8'), unpacked));
  }

  async put(...args) {
    return this.kept(await super.put(...args));
  }

  async putWrites(...args) {
    return this.kept(await super.putWrites(...args));
  }

  kept(result) {
    const { storage, writes } = this;
    writeFileSync(`${this.file}.new`, JSON.stringify({ storage, writes }, packed));
    renameSync(`${this.file}.new`, this.file);
    return result;
  }
}
