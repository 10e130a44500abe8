import type { Logger } from 'pino'
import { type ApiRoute, pathOf } from '../../contract/api/route.ts'
import { API_ROUTES, type ApiOperation } from '../../contract/api/routes.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Redis } from '../../contract/wire/redis.ts'
import { keptAnswerKey } from '../../contract/wire/redisKeys.ts'
import { logRepeat } from '../runtime/logEvents.ts'
import { Loop } from '../runtime/loop.ts'
import type { AccountApi } from './accountApi.ts'
import type { ApiLimits } from './limits.ts'

export interface AnswerKeeperOptions {
  readonly api: Pick<AccountApi, 'answerPublic'>
  readonly redis: Redis
  readonly log: Logger
  readonly limits: ApiLimits
}

/** Keeps the answers to public reads in Redis, from which the proxies serve them while control is down. */
export function answerKeeper({ api, redis, log, limits }: AnswerKeeperOptions): Loop {
  return new Loop('answers to public reads', limits.keptAnswersMs, log, async (signal) => {
    for (const operation of publicReads()) {
      if (signal.aborted || redis.status !== 'ready') return
      try {
        const answer = { reply: await api.answerPublic(operation), madeAtMs: Date.now() }
        const bytes = Buffer.from(sluice.KeptAnswer.encode(answer).finish())
        await redis.set(keptAnswerKey(pathOf(API_ROUTES[operation], {})), bytes, 'PX', limits.keptAnswerTtlMs)
      } catch (error) {
        if (isUnused(error)) continue
        logRepeat(log, 'answer_cache_failed', { err: error, operation })
      }
    }
  })
}

/** Whether the gateway does not have what the read is about, as the vault of a gateway without one. */
function isUnused(error: unknown): boolean {
  return error instanceof GatewayError && error.status === 404
}

/** The public reads that have one answer: those with their own path. */
function publicReads(): ApiOperation[] {
  const routes: [string, ApiRoute][] = Object.entries(API_ROUTES)
  return routes
    .filter(([, { cache, path, query }]) => cache !== undefined && !path.includes('{') && !query?.required.length)
    .map(([operation]) => operation as ApiOperation)
}
