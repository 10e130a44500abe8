import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY_DISK = '/dev/shm'
/** What the servers of a whole run may write, and much more. */
const ROOM_BYTES = 8 * 2 ** 30

/** Servers that tests start and throw away spend half of their time waiting for a disk, where there is one. */
function root(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_DISK)
    return bavail * bsize >= ROOM_BYTES ? MEMORY_DISK : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** A new folder below the one of the test run. PostgreSQL, which does not run as root, has to be able to enter it. */
export function makeTempDir(name: string): string {
  const dir = mkdtempSync(join(process.env['SLUICE_TEST_DIR'] ?? root(), `sluice-${name}-`))
  chmodSync(dir, 0o755)
  return dir
}

/** Removes what a test has left; SLUICE_TEST_KEEP=1 keeps it to look into. */
export function removeTempDir(...paths: string[]): void {
  for (const path of paths) {
    if (process.env['SLUICE_TEST_KEEP'] === '1') process.stderr.write(`kept ${path}\n`)
    else rmSync(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 })
  }
}
