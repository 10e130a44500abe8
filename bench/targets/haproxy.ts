import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../control/launch/process/freePort.ts'
import type { Program } from './program.ts'
import { findCommand, startProgram } from './program.ts'
import { PROVIDER_HOST, type ProviderPorts } from './provider.ts'

/** A running haproxy with one thread that passes everything through. */
export interface Haproxy extends Program {
  readonly version: string
  /** The port whose requests are forwarded to the provider over TLS. */
  readonly tlsPort: number
}

/**
 * Starts haproxy as a plain HTTP pass-through to the mock provider.
 * @throws Error when it is missing or does not start
 */
export async function startHaproxy(provider: ProviderPorts): Promise<Haproxy> {
  const { command, version } = findCommand('haproxy')
  const tlsPort = await freePort()
  const program = await startProgram({
    name: 'haproxy',
    command,
    prepare: (folder, port) => {
      writeFileSync(join(folder, 'haproxy.cfg'), haproxyConfig(port, tlsPort, provider))
      return ['-db', '-f', join(folder, 'haproxy.cfg')]
    },
  })
  return { ...program, version, tlsPort }
}

/**
 * Keep-alive on both legs, shared between clients; bytes are forwarded immediately (`http-no-delay`) and nothing is logged.
 * https://docs.haproxy.org/2.6/configuration.html
 */
function haproxyConfig(port: number, tlsPort: number, provider: ProviderPorts): string {
  const kept = 'pool-max-conn -1 pool-purge-delay 60s'
  const checked = `ssl verify required ca-file ${provider.providerCertFile} sni str(${PROVIDER_HOST}) verifyhost ${PROVIDER_HOST}`
  return `global
  nbthread 1
  maxconn 8192
defaults
  mode http
  option http-keep-alive
  option http-no-delay
  http-reuse always
  timeout connect 5s
  timeout client 120s
  timeout server 120s
  timeout http-keep-alive 75s
listen plain
  bind 127.0.0.1:${port} backlog 4096
  server mock 127.0.0.1:${provider.providerPort} ${kept}
listen encrypted
  bind 127.0.0.1:${tlsPort} backlog 4096
  server mock 127.0.0.1:${provider.providerTlsPort} ${kept} ${checked}
`
}
