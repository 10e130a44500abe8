import { readFileSync } from 'node:fs'
import type { LoadTarget } from './options.ts'

/** The requests of a load: always the same one, or the same body with one API key after another. */
export class RequestSource {
  private readonly requests: readonly Buffer[]
  private place = 0

  /** @throws Error when the target's file of keys is empty */
  constructor(target: LoadTarget, body: string) {
    const { keysFile, authorization } = target
    const credentials = keysFile === undefined ? [authorization] : readKeys(keysFile).map((key) => `Bearer ${key}`)
    this.requests = credentials.map((credential) => requestBytes(target, body, credential))
  }

  next(): Buffer {
    const request = this.requests[this.place]
    this.place = (this.place + 1) % this.requests.length
    if (request === undefined) throw new Error('there is no request to send')
    return request
  }
}

function readKeys(file: string): string[] {
  const keys = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  if (keys.length === 0) throw new Error(`there is no key in ${file}`)
  return keys
}

function requestBytes(target: LoadTarget, body: string, credential: string | undefined): Buffer {
  const lines = [
    `POST ${target.path} HTTP/1.1`,
    `Host: ${target.host}:${target.port}`,
    'Content-Type: application/json',
    'Accept: application/json',
    'User-Agent: sluice-bench',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(target.headers ?? []),
  ]
  if (credential !== undefined) lines.push(`Authorization: ${credential}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
