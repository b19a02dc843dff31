/** A journal of SQLite that whoever opens the database rolls back, and then deletes the file that it names. */
import { statSync } from 'node:fs';

const MAGIC = Buffer.from('d9d505f920a163d7', 'hex');
const SECTOR_BYTES = 512;
const PAGE_BYTES = 4096;

export function hotJournal(database: string, names: string): Buffer {
  const header = Buffer.alloc(SECTOR_BYTES);
  MAGIC.copy(header);
  header.writeUInt32BE(0, 8);
  header.writeUInt32BE(statSync(database).size / PAGE_BYTES, 16);
  header.writeUInt32BE(SECTOR_BYTES, 20);
  header.writeUInt32BE(PAGE_BYTES, 24);
  const name = Buffer.from(names);
  const words = [2 ** 30 / PAGE_BYTES + 1, name.length, name.reduce((sum, byte) => sum + byte, 0)].map(
    (word) => {
      const four = Buffer.alloc(4);
      four.writeUInt32BE(word);
      return four;
    },
  );
  const [lockPage = header, length = header, checksum = header] = words;
  return Buffer.concat([header, lockPage, name, length, checksum, MAGIC]);
}
