import { type LookupAddress, type LookupAllOptions, promises } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress, withoutBrackets } from './ipAddress.ts'

/** The most addresses of one name; a connection would not try more. */
const ADDRESSES_MAX = 32

/** Why a host is not connected to. */
export type HostFault = 'not_found' | 'not_public' | 'timeout'

export class HostError extends Error {
  override name = 'HostError'
  readonly fault: HostFault

  constructor(fault: HostFault, hostname: string) {
    super(`${hostname}: ${fault}`)
    this.fault = fault
  }
}

/** As `dns.promises.lookup`. */
export type LookupAll = (hostname: string, options: LookupAllOptions) => Promise<LookupAddress[]>

export interface ResolveOptions {
  /** Lets private and other special addresses pass. */
  readonly allowPrivate: boolean
  /** Ends the waiting. */
  readonly signal: AbortSignal
  /** The system's resolver when absent. */
  readonly lookup?: LookupAll
}

/**
 * Resolves the host of a URL once and checks every address that it has, so that a name with a public and a private address
 * is refused. Connect through `pinnedLookup` to the returned addresses: a second resolution could return others.
 * @param hostname as in `URL.hostname`, which writes every form of an IPv4 address in its usual one
 * @throws HostError
 */
export async function resolveHost(hostname: string, options: ResolveOptions): Promise<readonly LookupAddress[]> {
  const host = withoutBrackets(hostname)
  const family = isIP(host)
  const found = family === 0 ? await lookUp(host, options) : [{ address: host, family }]
  if (found.length === 0 || found.length > ADDRESSES_MAX) throw new HostError('not_found', host)
  const isAllowed = options.allowPrivate || found.every(({ address }) => isPublicAddress(address))
  if (!isAllowed) throw new HostError('not_public', host)
  return found
}

async function lookUp(host: string, { signal, lookup = promises.lookup }: ResolveOptions): Promise<LookupAddress[]> {
  if (signal.aborted) throw new HostError('timeout', host)
  let onAbort = (): void => {}
  // The system's resolver cannot be cancelled, only abandoned.
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new HostError('timeout', host))
    signal.addEventListener('abort', onAbort, { once: true })
  })
  const found = lookup(host, { all: true }).catch(() => {
    throw new HostError('not_found', host)
  })
  try {
    return await Promise.race([found, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/**
 * The `lookup` option of net.connect, tls.connect and node:http that returns these addresses for every name, so that a
 * connection goes to an address that was checked.
 */
export function pinnedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (hostname, options, callback) => {
    const wanted = options.family === 4 || options.family === 6 ? options.family : 0
    const fitting = addresses.filter(({ family }) => wanted === 0 || family === wanted)
    const [first] = fitting
    if (first === undefined) callback(new HostError('not_found', hostname), '')
    else if (options.all) callback(null, fitting)
    else callback(null, first.address, first.family)
  }
}
