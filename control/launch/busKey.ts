import { randomBytes } from 'node:crypto'
import { knownKeyFile, provideKeyFile } from './keyFile.ts'

const FILE = 'bus.key'
const KEY_BYTES = 32

/**
 * The key between proxies and control: the one of an earlier run, whose journals and ids of attempts can then be read, else a
 * new one.
 * @param dataDir where it is kept, readable only by this user
 */
export function provideBusKey(dataDir: string): string {
  return provideKeyFile(dataDir, FILE, () => randomBytes(KEY_BYTES).toString('hex'))
}

/** The key that `make run` made in a folder; undefined if it is missing or unreadable. */
export function knownBusKey(dataDir: string): string | undefined {
  return knownKeyFile(dataDir, FILE)
}
