import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Program } from './program.ts'
import { findCommand, startProgram } from './program.ts'

/** A running haproxy with one thread that passes everything through. */
export interface Haproxy extends Program {
  readonly version: string
}

/**
 * Starts haproxy as a plain HTTP pass-through to a server on this machine.
 * @throws Error when it is missing or does not start
 */
export async function startHaproxy(upstreamPort: number): Promise<Haproxy> {
  const { command, version } = findCommand('haproxy')
  const program = await startProgram({
    name: 'haproxy',
    command,
    prepare: (folder, port) => {
      writeFileSync(join(folder, 'haproxy.cfg'), haproxyConfig(port, upstreamPort))
      return ['-db', '-f', join(folder, 'haproxy.cfg')]
    },
  })
  return { ...program, version }
}

/**
 * Kept connections on both legs, shared between clients; bytes go on at once (`http-no-delay`) and nothing is logged.
 * https://docs.haproxy.org/2.6/configuration.html
 */
function haproxyConfig(port: number, upstreamPort: number): string {
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
frontend clients
  bind 127.0.0.1:${port} backlog 4096
  default_backend mock
backend mock
  server mock 127.0.0.1:${upstreamPort} pool-max-conn -1 pool-purge-delay 60s
`
}
