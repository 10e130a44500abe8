import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { ForwardProxy } from './environmentProxies.ts'

/** The longest head of a proxy's answer, in bytes. */
const HEAD_BYTES_MAX = 16_384
const HEAD_END = '\r\n\r\n'
const STATUS_LINE = /^HTTP\/1\.[01] ([0-9]{3})(?: |\r\n)/

/** A proxy was not reached, or made no tunnel. */
export class TunnelError extends Error {
  override name = 'TunnelError'
  /** PROXY_ with the status of the proxy's answer, with the code of the system or of TLS, or with ENDED or MALFORMED. */
  readonly code: string

  constructor(reason: string, options?: ErrorOptions) {
    super(`the proxy made no tunnel: ${reason}`, options)
    this.code = `PROXY_${reason}`
  }
}

/**
 * Has a proxy connect to a server, by CONNECT of RFC 9110. The proxy resolves the name of the server.
 * @param done called once, also when the caller has destroyed the socket: without an error, the socket leads to the server
 * @returns the socket, for the caller to destroy
 */
export function openTunnel(
  proxy: ForwardProxy,
  { host, port }: { readonly host: string; readonly port: number },
  done: (error?: TunnelError) => void,
): Socket {
  const at = { host: proxy.host, port: proxy.port }
  const name = isIP(proxy.host) === 0 ? { servername: proxy.host } : {}
  const socket = proxy.tls
    ? connectTls({ ...at, ...name, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true })
    : connect(at)
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  let head = ''
  const end = (error?: TunnelError): void => {
    socket.off('readable', onReadable).off('end', onEnd).off('close', onEnd).off('error', onError)
    if (error !== undefined) {
      socket.on('error', () => undefined)
      socket.destroy()
    }
    done(error)
  }
  const onReadable = (): void => {
    for (let part = socket.read() as Buffer | null; part !== null; part = socket.read() as Buffer | null) {
      head += part.toString('latin1')
    }
    const at = head.indexOf(HEAD_END)
    if (at < 0 && head.length <= HEAD_BYTES_MAX) return
    const status = STATUS_LINE.exec(head)?.[1]
    // A server of TLS or of HTTP says nothing before its client does.
    if (at < 0 || status === undefined || (status[0] === '2' && at + HEAD_END.length < head.length))
      end(new TunnelError('MALFORMED'))
    else end(status[0] === '2' ? undefined : new TunnelError(status))
  }
  const onEnd = (): void => end(new TunnelError('ENDED'))
  const onError = (error: NodeJS.ErrnoException): void => end(new TunnelError(error.code ?? 'FAILED', { cause: error }))
  socket.setNoDelay(true)
  socket.on('readable', onReadable).on('end', onEnd).on('close', onEnd).on('error', onError)
  socket.once(proxy.tls ? 'secureConnect' : 'connect', () => socket.write(connectHead(target, proxy.login), 'latin1'))
  return socket
}

function connectHead(target: string, login: string): string {
  const authorization =
    login === '' ? '' : `proxy-authorization: Basic ${Buffer.from(login, 'utf8').toString('base64')}\r\n`
  return `CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${authorization}\r\n`
}
