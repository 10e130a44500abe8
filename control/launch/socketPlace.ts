import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Of `sun_path`: 104 bytes with the closing zero on macOS, 108 on Linux. */
const PATH_BYTES_MAX = 103
/** Paths that need no escaping in the address of a socket. */
const PLAIN = /^[\w./-]+$/

/** Where a Unix domain socket is made. */
export interface SocketPlace {
  readonly path: string
  /** Removes the files made for it. */
  remove(): void
}

/**
 * A place for a socket that only this user can reach: the folder `dir`, or a new folder in the system's temporary folder if
 * the path of `dir` is too long for a socket or has characters that an address would escape.
 * @param dir closed to all other users
 */
export function socketPlace(dir: string, name: string): SocketPlace {
  const path = join(dir, name)
  if (PLAIN.test(path) && Buffer.byteLength(path) <= PATH_BYTES_MAX) return { path, remove: () => {} }
  // mkdtemp makes it with mode 0700.
  const own = mkdtempSync(join(tmpdir(), 'sluice-'))
  return { path: join(own, name), remove: () => rmSync(own, { recursive: true, force: true }) }
}
