import { chmodSync, mkdirSync, statSync } from 'node:fs'

const STICKY = 0o1000

/**
 * Makes a folder that only this user may enter, or closes an existing one to all others.
 * @throws Error for a folder that is shared on purpose, such as /tmp, or belongs to another user
 */
export function makePrivate(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const { mode, uid } = statSync(dir)
  const isOurs = uid === process.getuid?.() || process.getuid === undefined
  if ((mode & STICKY) !== 0 || !isOurs) {
    throw new Error(`SLUICE_DATA is ${dir}, which other users share; name a folder of its own`)
  }
  chmodSync(dir, 0o700)
}
