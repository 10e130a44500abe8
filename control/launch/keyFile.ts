import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A secret that is made once and kept in a file, readable only by this user.
 * @param make a new one, for a folder without the file
 */
export function provideKeyFile(dataDir: string, name: string, make: () => string): string {
  const path = join(dataDir, name)
  if (!existsSync(path)) writeFileSync(path, `${make()}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(path, 0o600)
  return readFileSync(path, 'utf8').trim()
}

/** The secret in a file; undefined if it is missing or unreadable. */
export function knownKeyFile(dataDir: string, name: string): string | undefined {
  try {
    return readFileSync(join(dataDir, name), 'utf8').trim()
  } catch {
    return undefined
  }
}
