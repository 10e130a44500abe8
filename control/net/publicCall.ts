import { Agent } from 'undici'
import { callHttp, type HttpAnswer, type HttpCall } from './providerCall.ts'
import { HostError, pinnedLookup, resolveHost } from './publicAddress.ts'

export { HostError } from './publicAddress.ts'

/** Makes one HTTP call to an address that somebody else has named. */
export type CallPublic = (call: Omit<HttpCall, 'agent'>) => Promise<HttpAnswer>

/**
 * Calls addresses of the public internet alone: the name is resolved once, every address that it has must be public, and
 * the connection goes to those. Redirects are not followed.
 * @param allowPrivate lets all addresses pass
 * @returns a function that rejects with HostError or CallError
 */
export function publicCaller(allowPrivate: boolean): CallPublic {
  return async (call) => {
    const begin = performance.now()
    const signal = AbortSignal.timeout(call.timeoutMs)
    const { hostname } = new URL(call.url)
    const addresses = await resolveHost(hostname, { allowPrivate, signal })
    const leftMs = Math.floor(call.timeoutMs - (performance.now() - begin))
    if (leftMs <= 0) throw new HostError('timeout', hostname)
    const agent = new Agent({ connect: { lookup: pinnedLookup(addresses), timeout: leftMs } })
    try {
      return await callHttp({ ...call, timeoutMs: leftMs, agent })
    } finally {
      await agent.destroy()
    }
  }
}
