/** The real paths of the databases that SQLite has open in this process, and how often. */
const databases = new Map<string, number>();

/** Remembers a database that SQLite has open, by its real path, until the returned function is called. */
export function databaseOpened(path: string): () => void {
  databases.set(path, (databases.get(path) ?? 0) + 1);
  return () => {
    const left = (databases.get(path) ?? 0) - 1;
    if (left > 0) databases.set(path, left);
    else databases.delete(path);
  };
}

/**
 * Whether a file, by its real path, is a database that SQLite has open in this process, or belongs to one. It must not be
 * opened: closing it again would release all locks of this process on it (POSIX), and another process could write to the
 * database at the same time.
 */
export function isOpenDatabase(path: string): boolean {
  return databases.has(path) || databases.has(path.replace(/-(?:wal|shm|journal)$/, ''));
}
