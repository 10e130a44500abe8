// The only file of the proxy that names the HTTP server package.
import uWebSockets, { type us_listen_socket } from 'uWebSockets.js'

export type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js'

export type ListenSocket = us_listen_socket

export const newApp = uWebSockets.App

/** Stops accepting connections on a listening socket. */
export const closeListener = uWebSockets.us_listen_socket_close

/** The port a listening socket is bound to. */
export const listenerPort = uWebSockets.us_socket_local_port

/** Listen option: share the port between processes by SO_REUSEPORT. */
export const SHARE_PORT = 0

/** The most headers of a request that the package takes. It answers 431 by itself beyond. */
export const HEADERS_MAX = 98

/** The most bytes of a request's head that the package takes, all lines together. It answers 431 by itself beyond. */
export const HEAD_BYTES_MAX = 4_096
