import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new folder below the one of the test run. PostgreSQL, which does not run as root, has to be able to enter it. */
export function makeTempDir(name: string): string {
  const dir = mkdtempSync(join(process.env['SLUICE_TEST_DIR'] ?? tmpdir(), `sluice-${name}-`))
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
