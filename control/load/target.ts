/** A gateway under load. */
export interface Target {
  /** Without /v1 and without a slash at its end. */
  readonly url: string
  readonly isSecure: boolean
  readonly host: string
  readonly port: number
  /** The path before /v1; empty for most. */
  readonly path: string
}

/** A request as bytes are made of it. */
export interface RequestLine {
  readonly method: 'GET' | 'POST'
  /** From /v1 on. */
  readonly path: string
  readonly key: string
  /** JSON; empty for none. */
  readonly body: string
}

/** @param text a URL with or without /v1 at its end @returns undefined when it is no http or https URL */
export function targetOf(text: string): Target | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, hostname, port, pathname, search, username } = new URL(text)
  const isSecure = protocol === 'https:'
  if ((!isSecure && protocol !== 'http:') || search !== '' || username !== '') return undefined
  const path = pathname.replace(/\/+$/, '').replace(/\/v1$/, '')
  const fallback = isSecure ? 443 : 80
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const authority = port === '' ? hostname : `${hostname}:${port}`
  return { url: `${protocol}//${authority}${path}`, isSecure, host, port: Number(port) || fallback, path }
}

export function requestBytes(target: Target, { method, path, key, body }: RequestLine): Buffer {
  const lines = [
    `${method} ${target.path}${path} HTTP/1.1`,
    `Host: ${new URL(target.url).host}`,
    'Accept: application/json, text/event-stream',
    'User-Agent: sluice-load',
  ]
  if (key !== '') lines.push(`Authorization: Bearer ${key}`)
  if (body !== '') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
