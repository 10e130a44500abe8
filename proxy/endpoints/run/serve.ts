import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { BodyOwner, BodyParser } from '../../json/parseInSteps.ts'
import type { Exchange, Handler } from '../../server/exchange.ts'
import { checkKey } from './checkKey.ts'
import type { RunServices } from './services.ts'

/** Serves a request for somebody; it takes its hold from the services that it is given. */
export type Serve = (
  exchange: Exchange,
  body: Buffer,
  principal: Principal,
  services: RunServices,
) => void | Promise<void>

/** Has large bodies parsed in steps before a request is served. */
export function parseFirst(serve: Serve, parser: BodyParser, owner: BodyOwner): Serve {
  return (exchange, body, principal, services) => {
    const ready = parser.prepare(body, owner)
    if (ready === undefined) return serve(exchange, body, principal, services)
    return ready.then(() => serve(exchange, body, principal, services))
  }
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
