import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newCertificate } from '../../mock/certificate.ts'
import { type Child, startChild } from '../child.ts'

/** The name in the certificate of the mock provider. */
export const PROVIDER_HOST = 'localhost'

/** Where the mock provider is: the same program listens with and without TLS. */
export interface ProviderPorts {
  readonly providerPort: number
  readonly providerTlsPort: number
  /** The certificate that TLS clients have to trust. */
  readonly providerCertFile: string
}

/** The processes of the mock provider. */
export interface Providers extends ProviderPorts {
  readonly plain: Child
  readonly tls: Child
}

/**
 * Starts the mock provider twice, once with a certificate that is made for the run.
 * @param stops receives the functions that end them
 */
export async function startProviders(stops: (() => Promise<void>)[]): Promise<Providers> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-provider-'))
  stops.push(async () => rmSync(folder, { recursive: true, force: true }))
  const { key, cert } = newCertificate(PROVIDER_HOST)
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  writeFileSync(keyFile, key, { mode: 0o600 })
  writeFileSync(certFile, cert)
  const start = async (...args: string[]): Promise<Child> => {
    const child = await startChild('../mock/main.js', ['--port', '0', ...args])
    stops.push(() => child.stop())
    return child
  }
  const plain = await start()
  const tls = await start('--tls-key', keyFile, '--tls-cert', certFile)
  const ports = { providerPort: plain.ready['port'] ?? 0, providerTlsPort: tls.ready['port'] ?? 0 }
  return { plain, tls, ...ports, providerCertFile: certFile }
}
