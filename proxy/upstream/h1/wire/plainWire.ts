import { connect, type Socket } from 'node:net'
import type { Wire, WireEnd, WireListener } from './wire.ts'

const READ_BYTES = 65_536

/** All of them read into this memory: a read is done with before the next one begins. */
const sharedRead = Buffer.allocUnsafe(READ_BYTES)

/** A TCP connection. */
export class PlainWire implements Wire {
  readonly isReady = true
  readonly socket: Socket

  constructor({ host, port, lookup, socket }: WireEnd, listener: WireListener) {
    const callback = (length: number): boolean => {
      listener.onBytes(sharedRead.subarray(0, length))
      return true
    }
    this.socket =
      socket ??
      connect({ host, port, noDelay: true, ...(lookup && { lookup }), onread: { buffer: sharedRead, callback } })
    if (socket === undefined) this.socket.on('connect', () => listener.onConnected())
    else {
      socket.on('data', (bytes: Buffer) => listener.onBytes(bytes))
      setImmediate(() => listener.onConnected())
    }
    this.socket.on('end', () => listener.onEnd())
    this.socket.on('error', (error) => listener.onBroken(error))
    this.socket.on('close', () => listener.onBroken(undefined))
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  destroy(): void {
    this.socket.destroy()
  }
}
