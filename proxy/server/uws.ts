// The only file of the proxy that names the HTTP server package.

import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js'
import { createRequire } from 'node:module'
import { loadHttpServer } from './httpServer.mjs'

export type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js'

export type ListenSocket = us_listen_socket

/** The types of the package leave out how it is closed, which ends all its connections. */
export type App = TemplatedApp & { close(): void }

const uWebSockets = loadHttpServer(createRequire(import.meta.url))

export const newApp = uWebSockets.App as () => App

/** Stops accepting connections on a listening socket. */
export const closeListener = uWebSockets.us_listen_socket_close

/** The port a listening socket is bound to. */
export const listenerPort = uWebSockets.us_socket_local_port

/** Listen option: share the port between processes by SO_REUSEPORT. */
export const SHARE_PORT = 0
