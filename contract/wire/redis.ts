import { Redis } from 'ioredis'

const RECONNECT_DELAY_MAX_MS = 1_000

/** Whether calls wait for a lost connection to come back, or fail: at once, and without an answer after so long. */
export type LostConnection = 'wait' | { readonly failAfterMs: number }

/**
 * Connects to Redis. The connection restores itself; commands that were under way when it broke are rejected, never
 * sent again, because a script may have run.
 * @param url redis:// or rediss:// address, or unix:///path of a socket
 * @param lost what a command does while there is no connection; one that fails also has a bounded time to answer, and
 *   a connection on which an answer is that late is given up
 */
export function connectRedis(url: string, lost: LostConnection): Redis {
  const redis = new Redis(url, {
    // In the newer protocol, raw calls answer stream reads in another shape.
    protocol: 2,
    enableOfflineQueue: lost === 'wait',
    maxRetriesPerRequest: lost === 'wait' ? null : 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(attempt * 50, RECONNECT_DELAY_MAX_MS),
    noDelay: true,
    ...(lost === 'wait' ? {} : { commandTimeout: lost.failAfterMs }),
  })
  // ioredis forgets commands that it neither resends nor retries, and their promises would never settle.
  const flushQueue = Reflect.get(redis, 'flushQueue') as (error: Error, queues: { offlineQueue: boolean }) => void
  redis.on('close', () =>
    flushQueue.call(redis, new Error('the connection to Redis was lost'), { offlineQueue: false }),
  )
  if (lost !== 'wait') dropWhenLate(redis)
  return redis
}

/**
 * A command that timed out stays in the buffer of its connection, as does every one sent after it; with a Redis that
 * hangs, that buffer has no bound. Dropping the connection frees it and shows that there is no Redis to send to.
 */
function dropWhenLate(redis: Redis): void {
  const send = redis.sendCommand
  redis.sendCommand = (command, stream) => {
    const connection = redis.stream
    const answer = send.call(redis, command, stream)
    command.promise.catch((error: unknown) => {
      if (!(error instanceof Error) || error.message !== 'Command timed out') return
      // Before the first connection there is none.
      if (connection?.destroyed === false)
        connection.destroy(new Error('Redis did not answer in time; its connection is dropped'))
    })
    return answer
  }
}
