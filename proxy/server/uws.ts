// The only file that names the HTTP server package. The published builds differ in the names of two functions; both are
// accepted, so that the official release can be put in place by one line of package.json.
import uWebSockets from 'uWebSockets.js'

export type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js'

export interface ListenSocket {
  readonly opaque: unique symbol
}

type SocketFunction<Result> = (socket: ListenSocket) => Result

function either<Result>(first: string, second: string): SocketFunction<Result> {
  const found: unknown = Reflect.get(uWebSockets, first) ?? Reflect.get(uWebSockets, second)
  if (typeof found !== 'function') throw new Error(`the HTTP server package offers neither ${first} nor ${second}`)
  return (socket) => Reflect.apply(found, uWebSockets, [socket]) as Result
}

export const newApp = uWebSockets.App

/** Stops accepting connections on a listening socket. */
export const closeListener: SocketFunction<void> = either('us_listen_socket_close', 'closeSocket')

/** The port a listening socket is bound to. */
export const listenerPort: SocketFunction<number> = either('us_socket_local_port', 'getSocketPort')

/** Listen option: share the port between processes by SO_REUSEPORT. */
export const SHARE_PORT = 0
