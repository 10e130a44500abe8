import { accessSync, chmodSync, constants, mkdirSync, statSync } from 'node:fs'

const STICKY = 0o1000

/**
 * Makes the data folder where it is missing; an existing one stays as it is.
 * @throws Error for a folder that is shared on purpose, such as /tmp, that belongs to another user, or that this user cannot write
 */
export function provideDataFolder(dir: string): void {
  const { mode, uid } = made(dir)
  const isOurs = process.getuid === undefined || uid === process.getuid()
  if ((mode & STICKY) !== 0) throw refusal(dir, 'which all users share; name a separate folder')
  if (!isOurs)
    throw refusal(dir, `which belongs to the user with the id ${uid}; run this as that user, or name another folder`)
  try {
    accessSync(dir, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw refusal(dir, `which cannot be written (${codeOf(error)})`)
  }
}

/** Closes a folder to all other users. */
export function closeFolder(dir: string): void {
  chmodSync(dir, 0o700)
}

function made(dir: string): { mode: number; uid: number } {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const found = statSync(dir)
    if (found.isDirectory()) return found
  } catch (error) {
    throw refusal(dir, `which cannot be made (${codeOf(error)})`)
  }
  throw refusal(dir, 'which is not a folder')
}

function refusal(dir: string, reason: string): Error {
  return new Error(`SLUICE_DATA is ${dir}, ${reason}`)
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
