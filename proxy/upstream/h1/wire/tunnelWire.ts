import type { Socket } from 'node:net'
import type { ForwardProxy } from '../../../../contract/net/environmentProxies.ts'
import { openTunnel, type TunnelError } from '../../../../contract/net/tunnel.ts'
import type { Wire, WireEnd, WireListener } from './wire.ts'

/** Makes the wire of a server over a socket that leads to it. */
export type WireOver = (socket: Socket) => Wire

/** A wire through a forward proxy. Bytes can be written after `onConnected`. */
export class TunnelWire implements Wire {
  readonly isReady = false
  private readonly tunnel: Socket
  private inner: Wire | undefined
  private destroyed = false
  private paused = false

  constructor(proxy: ForwardProxy, end: WireEnd, listener: WireListener, over: WireOver) {
    this.tunnel = openTunnel(proxy, end, (error?: TunnelError) => {
      if (this.destroyed) return
      if (error !== undefined) listener.onBroken(error)
      else this.inner = over(this.tunnel)
      if (this.paused) this.inner?.pause()
    })
  }

  get socket(): Socket {
    return this.inner?.socket ?? this.tunnel
  }

  pause(): void {
    this.paused = true
    this.inner?.pause()
  }

  resume(): void {
    this.paused = false
    this.inner?.resume()
  }

  destroy(): void {
    this.destroyed = true
    if (this.inner === undefined) this.tunnel.destroy()
    else this.inner.destroy()
  }
}
