import { type BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { EnvironmentProxies } from '../../contract/net/environmentProxies.ts'
import { type KeySource, readPem, readSecret, type Secret } from '../../contract/providers/providerKeys.ts'
import type { ReachReads } from '../../contract/providers/reach.ts'
import { TlsContexts } from '../../contract/providers/tlsContexts.ts'
import type { CatalogLimits } from './limits.ts'

/** Begins the names of files that are read as PEM. */
const PEM = 'pem'

/** A file with a secret or with certificates, as it was read last. */
interface KeyFile {
  readonly path: string
  readonly read: () => Secret
  secret: Secret
  /** Of the content: another one where the file was written, replaced, or its link set anew. */
  version: string
}

/**
 * The secrets of the providers' keys in this process, and the certificates of both sides. Files are read when the catalog first names them and again when they change,
 * so that a secret store can rotate a key without a restart.
 */
export class KeySecrets {
  readonly environment: NodeJS.ProcessEnv
  private readonly checkMs: number
  private readonly files = new Map<string, KeyFile>()
  private readonly proxies: EnvironmentProxies
  private readonly contexts = new TlsContexts()
  private timer: NodeJS.Timeout | undefined
  private checking = false
  private onChange: () => void = () => undefined

  constructor(environment: NodeJS.ProcessEnv, { keyFileCheckMs }: CatalogLimits) {
    this.environment = environment
    this.checkMs = keyFileCheckMs
    this.proxies = new EnvironmentProxies(environment)
  }

  /** The secret of a key. A file that was read before is not read again: `again` does that, and the timer. */
  of(source: KeySource): Secret {
    const read = (): Secret => readSecret(source, this.environment)
    return source.file === '' ? read() : this.fileOf(source.file, source.file, read)
  }

  /** Reads a secret that its provider has refused once more, since it may just have been replaced. */
  again(source: KeySource): Secret {
    if (source.file === '' || !this.files.has(source.file)) return this.of(source)
    if (this.read(source.file)) setImmediate(() => this.onChange())
    return this.of(source)
  }

  /** Reads for a catalog. `forgetOthers` forgets the files that it has not named. */
  reading(): { readonly reads: ReachReads; readonly forgetOthers: () => void } {
    const named = new Set<string>()
    const secret = (source: KeySource): Secret => {
      named.add(source.file)
      return this.of(source)
    }
    const pem = (path: string): Secret => {
      const name = `${PEM} ${path}`
      named.add(name)
      return this.fileOf(name, path, () => readPem(path))
    }
    const forgetOthers = (): void => {
      for (const name of this.files.keys()) if (!named.has(name)) this.files.delete(name)
    }
    return { reads: { secret, pem, proxies: this.proxies, contexts: this.contexts }, forgetOthers }
  }

  /** Checks the files from now on. @param onChange called after secrets have changed */
  start(onChange: () => void): void {
    this.onChange = onChange
    this.timer = setInterval(() => void this.check(), this.checkMs).unref()
  }

  stop(): void {
    clearInterval(this.timer)
  }

  /** Reads the files that have changed since they were read. */
  async check(): Promise<void> {
    if (this.checking) return
    this.checking = true
    let changed = false
    for (const [name, file] of [...this.files]) {
      const version = await versionOf(file.path)
      if (version === file.version || !this.files.has(name)) continue
      file.version = version
      changed = this.read(name) || changed
    }
    this.checking = false
    if (changed) this.onChange()
  }

  private fileOf(name: string, path: string, read: () => Secret): Secret {
    const known = this.files.get(name)
    if (known !== undefined) return known.secret
    const secret = read()
    this.files.set(name, { path, read, secret, version: '' })
    return secret
  }

  /** @returns whether its secret is another one now */
  private read(name: string): boolean {
    const file = this.files.get(name)
    if (file === undefined) return false
    const before = file.secret
    file.secret = file.read()
    return before.text !== file.secret.text || before.fault !== file.secret.fault
  }
}

/** A path leads to another file after a link was set anew, which is how mounted secrets change. */
async function versionOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(
    ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats) => `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`,
    () => 'none',
  )
}
