import { createHash } from 'node:crypto'
import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Redis } from '../../contract/wire/redis.ts'
import { keptAnswerKey } from '../../contract/wire/redisKeys.ts'
import type { EndpointLimits } from './limits.ts'

const ETAG_BYTES = 16

/** A cached answer that is the same for every client. */
export interface KeptAnswer {
  readonly contentType: string
  readonly headers: readonly string[]
  readonly body: Buffer
  /** A strong entity tag (RFC 9110, section 8.8.3) of the body. */
  readonly etag: string
  readonly madeAtMs: number
}

/** A public read. */
export interface PublicRead {
  readonly path: string
  /** As the client sent it. */
  readonly query: string
  readonly maxAgeMs: number
  /** Asks control. @param timeoutMs undefined for the usual time */
  readonly ask: (timeoutMs: number | undefined) => Promise<sluice.ApiReply>
}

export interface KeptAnswersOptions {
  readonly redis: Pick<Redis, 'getBuffer' | 'status'>
  /** Whether control has answered lately. */
  readonly controlAlive: () => boolean
  readonly limits: EndpointLimits
}

/**
 * The answers to public reads, cached in memory until they exceed the maximum age of their route. While control is down, the
 * last answer is served, at any age: from memory, or from the copy that control keeps in Redis.
 */
export class KeptAnswers {
  private readonly options: KeptAnswersOptions
  /** In the order of their last use. */
  private readonly answers = new Map<string, KeptAnswer>()
  private readonly asked = new Map<string, Promise<KeptAnswer>>()
  private bytes = 0

  constructor(options: KeptAnswersOptions) {
    this.options = options
  }

  /** @throws GatewayError as control refuses, or admission_unavailable where no answer is known */
  async find(read: PublicRead): Promise<KeptAnswer> {
    const name = nameOf(read)
    if (name.length > this.options.limits.keptAnswerNameCharactersMax)
      return answerOf(await read.ask(undefined), Date.now())
    const known = this.answers.get(name)
    if (known !== undefined && Date.now() - known.madeAtMs < read.maxAgeMs) {
      this.answers.delete(name)
      this.answers.set(name, known)
      return known
    }
    return this.asked.get(name) ?? this.renew(name, read, known)
  }

  private renew(name: string, read: PublicRead, known: KeptAnswer | undefined): Promise<KeptAnswer> {
    const renewing = this.askOrRemember(name, read, known).finally(() => this.asked.delete(name))
    this.asked.set(name, renewing)
    return renewing
  }

  private async askOrRemember(name: string, read: PublicRead, known: KeptAnswer | undefined): Promise<KeptAnswer> {
    const { controlAlive, limits } = this.options
    if (!controlAlive()) {
      const last = known ?? (await this.left(read))
      if (last !== undefined) return last
    }
    try {
      const answer = answerOf(await read.ask(known && limits.keptAnswerWaitMs), Date.now())
      this.keep(name, answer)
      return answer
    } catch (error) {
      // Control or its database is down; a refusal that the request caused stays a refusal.
      if (!(error instanceof GatewayError) || error.status < 500) throw error
      const last = known ?? (await this.left(read))
      if (last === undefined) throw error
      return last
    }
  }

  /** Control's copy in Redis, which has the answers to reads without a query. */
  private async left({ path, query }: PublicRead): Promise<KeptAnswer | undefined> {
    const { redis } = this.options
    if (query !== '' || redis.status !== 'ready') return undefined
    const bytes = await redis.getBuffer(keptAnswerKey(path)).catch(() => null)
    if (bytes === null) return undefined
    const { reply, madeAtMs } = sluice.KeptAnswer.decode(bytes)
    return answerOf(sluice.ApiReply.create(reply ?? {}), madeAtMs)
  }

  private keep(name: string, answer: KeptAnswer): void {
    const { keptAnswersMax, keptAnswerBytesMax } = this.options.limits
    this.drop(name)
    this.answers.set(name, answer)
    this.bytes += answer.body.length
    for (const oldest of this.answers.keys()) {
      if (this.answers.size <= keptAnswersMax && this.bytes <= keptAnswerBytesMax) break
      this.drop(oldest)
    }
  }

  private drop(name: string): void {
    this.bytes -= this.answers.get(name)?.body.length ?? 0
    this.answers.delete(name)
  }
}

/** The same for requests that differ only in the order of their query. */
function nameOf({ path, query }: PublicRead): string {
  if (query === '') return path
  const fields = new URLSearchParams(query)
  fields.sort()
  return `${path}?${fields}`
}

function answerOf({ contentType, headers, body }: sluice.ApiReply, madeAtMs: number): KeptAnswer {
  const digest = createHash('sha256').update(body).digest().subarray(0, ETAG_BYTES).toString('base64url')
  const own = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return { contentType, headers, body: own, etag: `"${digest}"`, madeAtMs }
}
