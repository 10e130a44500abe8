import { AttemptIds } from '../../contract/wire/attemptIds.ts'
import type { UpstreamLimits } from './limits.ts'
import { NamedAttempts } from './namedAttempts.ts'
import { SocketTransport } from './socketTransport.ts'
import type { Transport } from './transport/transport.ts'

/** Ways to reach providers: the gateway's own HTTP client, or undici, which costs more but is in use everywhere. */
export type TransportName = 'sockets' | 'undici'

/**
 * Reaches providers in the way that is named. undici is loaded only where it is used: that takes as long as all the rest.
 * @param busKeys of which the ids of attempts are made
 */
export async function newTransport(
  name: TransportName,
  busKeys: readonly Buffer[],
  limits: UpstreamLimits,
): Promise<Transport> {
  return new NamedAttempts(await plainTransport(name, limits), new AttemptIds(busKeys))
}

async function plainTransport(name: TransportName, limits: UpstreamLimits): Promise<Transport> {
  if (name === 'sockets') return new SocketTransport(limits)
  const { UndiciTransport } = await import('./undiciTransport.ts')
  return new UndiciTransport(limits)
}
