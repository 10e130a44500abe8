import type { Limits } from '../limits.ts'
import { SocketTransport } from './socketTransport.ts'
import type { Transport } from './transport/transport.ts'

/** Ways to reach providers: the gateway's own HTTP client, or undici, which costs more but is in use everywhere. */
export type TransportName = 'sockets' | 'undici'

/** Reaches providers in the way that is named. undici is loaded only where it is used: that takes as long as all the rest. */
export async function newTransport(name: TransportName, limits: Limits): Promise<Transport> {
  if (name === 'sockets') return new SocketTransport(limits)
  const { UndiciTransport } = await import('./undiciTransport.ts')
  return new UndiciTransport(limits)
}
