import { type Client, type Pool } from '../../../control/runtime/db/pool.ts'

/** Statements that the transactions which close and refund payments begin with. */
const CLOSES_OR_REFUNDS = /SKIP LOCKED|INSERT INTO refunds/

/** A pool that tells a listener for each connection of its statements before they are made, of commits once they are. */
export function watched(pool: Pool, newListener: () => (text: string) => Promise<void>): Pool {
  const connect = async () => {
    const client = await pool.connect()
    const listener = newListener()
    const query = async (...args: unknown[]): Promise<unknown> => {
      const text = String(args[0] instanceof Object ? Reflect.get(args[0], 'text') : args[0])
      const run = () => Reflect.apply(client.query, client, args) as Promise<unknown>
      if (text === 'COMMIT') await run()
      await listener(text)
      return text === 'COMMIT' ? undefined : run()
    }
    return bound<Client>(client, { query })
  }
  return bound(pool, { connect })
}

/** A pool whose transactions that close and refund payments break off, as `breaks` says; a commit may be made first. */
export function breaking(pool: Pool, breaks: () => boolean): Pool {
  return watched(pool, () => {
    let isWatched = false
    return async (text) => {
      isWatched ||= CLOSES_OR_REFUNDS.test(text)
      if (isWatched && text !== 'ROLLBACK' && breaks()) throw new Error('the connection broke')
    }
  })
}

/** A pool that stops once after a statement has been answered, until `meanwhile` has happened. */
export function pausing(pool: Pool, statement: RegExp, meanwhile: () => Promise<void>): Pool {
  let isDone = false
  const query = async (...args: unknown[]): Promise<unknown> => {
    const result = (await Reflect.apply(pool.query, pool, args)) as { rowCount: number }
    if (!isDone && statement.test(String(args[0])) && result.rowCount > 0) {
      isDone = true
      await meanwhile()
    }
    return result
  }
  return bound(pool, { query })
}

function bound<T extends object>(target: T, changes: Record<string, unknown>): T {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(changes, name)) return changes[String(name)]
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
