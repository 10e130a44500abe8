import type { Redis } from '../../contract/wire/redis.ts'
import { beforeDeadline } from '../runtime/beforeDeadline.ts'
import { type Pool, requireWrites } from '../runtime/db/pool.ts'

const TIMEOUT_MS = 2_000

/** Whether this control can answer calls, for load balancers and supervisors. */
export class Readiness {
  /** Everything runs. */
  isStarted = false
  private readonly pool: Pool
  private readonly redis: Redis

  constructor(pool: Pool, redis: Redis) {
    this.pool = pool
    this.redis = redis
  }

  /** Why it cannot; none when it can. */
  async hindrances(): Promise<string[]> {
    if (!this.isStarted) return ['starting']
    const asked: [string, Promise<unknown>][] = [
      ['PostgreSQL', beforeDeadline(requireWrites(this.pool), TIMEOUT_MS, late)],
      ['Redis', pingRedis(this.redis)],
    ]
    const answers = await Promise.all(
      asked.map(([name, answer]) =>
        answer.then(
          () => '',
          () => name,
        ),
      ),
    )
    return answers.filter((name) => name !== '')
  }
}

/** A connection that waits for Redis has no answer and no error; the deadline turns that into one. */
export async function pingRedis(redis: Redis): Promise<void> {
  await beforeDeadline(redis.ping(), TIMEOUT_MS, () => {
    throw new Error(`no answer (connection: ${redis.status})`)
  })
}

function late(): never {
  throw new Error('no answer')
}
