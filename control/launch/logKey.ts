import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateNoteKey } from '../book/checkpoint/noteKey.ts'

/** Names the log of an installation whose operator has not named it; no two are called the same. */
const newName = (): string => `${randomBytes(4).toString('hex')}.localhost/v1/log`

/**
 * The key that signs checkpoints of the usage logs: that of an earlier run, which what was signed is checked with, else a
 * new one.
 * @param dataDir where it is kept, readable for this user alone
 */
export function provideLogKey(dataDir: string): string {
  const path = join(dataDir, 'log.key')
  if (!existsSync(path)) writeFileSync(path, `${generateNoteKey(newName())}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(path, 0o600)
  return readFileSync(path, 'utf8').trim()
}

/** The key that `make run` made in a folder; undefined where there is none to be read. */
export function knownLogKey(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, 'log.key'), 'utf8').trim()
  } catch {
    return undefined
  }
}
