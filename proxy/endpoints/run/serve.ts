import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { Exchange, Handler } from '../../server/exchange.ts'
import type { BodyOwner } from '../largeBodies/largeBodies.ts'
import { checkKey } from './checkKey.ts'
import type { RunServices } from './services.ts'

/** Serves a request for a principal; it takes its hold from the services that are passed to it. */
export type Serve = (
  exchange: Exchange,
  body: Buffer,
  principal: Principal,
  services: RunServices,
) => void | Promise<void>

/** The kind of sender that these services serve. */
export function ownerOf({ paid }: Pick<RunServices, 'paid'>): BodyOwner {
  return paid === undefined ? 'customer' : 'stranger'
}

/** Serves the holders of keys. */
export function keyedHandler(serve: Serve, keys: KeyCache, services: RunServices): Handler {
  const run = (exchange: Exchange, body: Buffer, principal: Principal): void | Promise<void> => {
    checkKey(principal, exchange.startedAtMs)
    return serve(exchange, body, principal, services)
  }
  return (exchange, body) => {
    services.metrics.counters.requests++
    const found = keys.find(readApiKey(exchange.head), exchange.startedAtMs)
    if (found instanceof Promise) return found.then((principal) => run(exchange, body, principal))
    return run(exchange, body, found)
  }
}
