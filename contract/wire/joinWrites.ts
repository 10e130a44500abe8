import type { Redis as SingleRedis } from 'ioredis'

/**
 * Sends the commands that are given within one turn of the event loop, microtasks included, in one write: the kernel and Redis then
 * handle them together. Their order stays.
 */
export function joinWrites(redis: SingleRedis): void {
  const send = redis.sendCommand
  let corked: SingleRedis['stream'] | undefined
  const uncork = (): void => {
    corked?.uncork()
    corked = undefined
  }
  redis.sendCommand = (command, stream) => {
    // Absent before the first connection.
    const connection: SingleRedis['stream'] | undefined = redis.stream
    if (corked === undefined && connection?.writable === true) {
      corked = connection
      corked.cork()
      process.nextTick(uncork)
    }
    return send.call(redis, command, stream)
  }
}
