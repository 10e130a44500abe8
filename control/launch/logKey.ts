import { randomBytes } from 'node:crypto'
import { generateNoteKey } from '../book/checkpoint/noteKey.ts'
import { knownKeyFile, provideKeyFile } from './keyFile.ts'

const FILE = 'log.key'

/** A unique name for the log of an installation whose operator has not named it. */
const newName = (): string => `${randomBytes(4).toString('hex')}.localhost/v1/log`

/**
 * The key that signs checkpoints of the usage logs: the one of an earlier run, so that its checkpoints can still be verified,
 * else a new one.
 * @param dataDir where it is kept, readable only by this user
 */
export function provideLogKey(dataDir: string): string {
  return provideKeyFile(dataDir, FILE, () => generateNoteKey(newName()))
}

/** The key that `make run` made in a folder; undefined if it is missing or unreadable. */
export function knownLogKey(dataDir: string): string | undefined {
  return knownKeyFile(dataDir, FILE)
}
