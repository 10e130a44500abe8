import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTempDir, removeTempDir } from '../tempDir.ts'

/** A folder of secrets, as secret stores mount them. */
export class MountedSecrets {
  private readonly dir: string

  constructor(name: string) {
    this.dir = makeTempDir(name)
  }

  /** The path of a secret, which may not be there. */
  at(name: string): string {
    return join(this.dir, name)
  }

  /** Writes or replaces a secret as stores do: the file is never half written. @returns its path */
  mount(name: string, secret: string): string {
    const path = this.at(name)
    writeFileSync(`${path}.new`, `${secret}\n`)
    renameSync(`${path}.new`, path)
    return path
  }

  remove(): void {
    removeTempDir(this.dir)
  }
}
