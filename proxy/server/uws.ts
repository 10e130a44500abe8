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
