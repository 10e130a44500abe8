import type { Limits } from '../limits.ts'
import { SocketTransport } from './socketTransport.ts'
import type { Transport } from './transport.ts'
import { UndiciTransport } from './undiciTransport.ts'

/** Ways to reach providers: the gateway's own HTTP client, or undici, which costs more but is in use everywhere. */
export type TransportName = 'sockets' | 'undici'

export function newTransport(name: TransportName, limits: Limits): Transport {
  return name === 'undici' ? new UndiciTransport(limits) : new SocketTransport(limits)
}
