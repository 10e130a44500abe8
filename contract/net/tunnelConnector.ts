import type { Socket } from 'node:net'
import type { ForwardProxy } from './environmentProxies.ts'
import { portOf } from './ipAddress.ts'
import { openTunnel, TunnelError } from './tunnel.ts'

/** A server that undici has a connection made to. */
interface Wanted {
  readonly hostname: string
  readonly protocol: string
  readonly port: string
  readonly httpSocket?: Socket
}
type Callback = (...result: [null, Socket] | [Error, null]) => void
/** As undici's buildConnector returns it. */
export type Connector<Options extends Wanted> = (options: Options, callback: Callback) => void

/** The `connect` option of undici for servers that are reached through a proxy. @param secure begins TLS in the tunnel */
export function tunnelConnector<Options extends Wanted>(
  proxy: ForwardProxy,
  secure: Connector<Options>,
  timeoutMs: number,
): Connector<Options> {
  return (options, callback) => {
    const isSecure = options.protocol === 'https:'
    let isLate = false
    const end = (error?: TunnelError): void => {
      clearTimeout(timer)
      if (isLate) callback(new TunnelError('TIMEOUT'), null)
      else if (error !== undefined) callback(error, null)
      else if (isSecure) secure({ ...options, httpSocket: socket }, callback)
      else callback(null, socket)
    }
    const socket = openTunnel(proxy, { host: options.hostname, port: portOf(options) }, end)
    const timer = setTimeout(() => {
      isLate = true
      socket.destroy()
    }, timeoutMs)
  }
}
