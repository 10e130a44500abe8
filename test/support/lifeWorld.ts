import pg from 'pg'
import { ledgerStream, shardOf } from '../../contract/wire/redisKeys.ts'
import { StreamCall } from './clients/streamCall.ts'
import { present } from './present.ts'
import { Relay } from './relay.ts'
import { startTestRedis } from './services.ts'
import { type Stack, type StackOptions, startStack, type TestAccount } from './stack.ts'
import { testCatalog } from './testCatalog.ts'
import { until } from './until.ts'

const MODEL = 'test/paced'
const MODELS = [{ id: MODEL, upstream: 'mock,chunks=6,delay=5' }]

/** Where what is sent can be held back. */
type Relays = Pick<LifeWorld, 'providerRelay' | 'clientRelay' | 'redisRelay'>

/** A stack whose requests can be stopped at every step of their life: what a step waits for is held back. */
export class LifeWorld {
  readonly stack: Stack
  readonly account: TestAccount
  /** Between the gateway and its provider. */
  readonly providerRelay: Relay
  /** Between a client and the gateway. */
  readonly clientRelay: Relay
  /** Between Redis and everybody else. */
  readonly redisRelay: Relay
  private locker: pg.Client | undefined

  private constructor(stack: Stack, account: TestAccount, relays: Relays) {
    this.stack = stack
    this.account = account
    this.providerRelay = relays.providerRelay
    this.clientRelay = relays.clientRelay
    this.redisRelay = relays.redisRelay
  }

  static async start(options: StackOptions): Promise<LifeWorld> {
    const providerRelay = await Relay.start()
    const catalog = (providerUrl: string): string => {
      const url = new URL(providerUrl)
      providerRelay.targetPort = Number(url.port)
      url.port = String(providerRelay.port)
      return testCatalog(url.href, { models: MODELS })
    }
    const server = await startTestRedis()
    const redisRelay = await Relay.start(Number(new URL(server.url).port))
    const redis = { ...server, url: `redis://127.0.0.1:${redisRelay.port}` }
    const stack = await startStack({ ...options, catalog, redis })
    const clientRelay = await Relay.start(stack.proxy.port)
    const account = await stack.createAccount({ coin: '5', credits: '5' })
    return new LifeWorld(stack, account, { providerRelay, clientRelay, redisRelay })
  }

  async finish(): Promise<void> {
    try {
      await this.stack.finish()
    } finally {
      await Promise.all([this.providerRelay, this.clientRelay, this.redisRelay].map((relay) => relay.stop()))
    }
  }

  /** Begins a stream. */
  ask(): StreamCall {
    const url = `http://127.0.0.1:${this.clientRelay.port}`
    return new StreamCall(url, this.account.apiKey, { model: MODEL, max_tokens: 20 })
  }

  /** Begins a stream that stands still once some of it has come. */
  async askHalf(): Promise<StreamCall> {
    await this.stack.provider.hold()
    const call = this.ask()
    await until('the stream has begun', () => call.hasBegun)
    return call
  }

  /** Lets no receipt be booked; resolves once the lock stands. */
  async lockBook(): Promise<void> {
    const locker = new pg.Client(this.stack.databaseUrl)
    // It ends with a server that is killed.
    locker.on('error', () => undefined)
    this.locker = locker
    await locker.connect()
    await locker.query('BEGIN')
    await locker.query('LOCK TABLE receipts IN EXCLUSIVE MODE')
  }

  /** Whether a transaction waits for the book's lock. */
  async waitsForBook(): Promise<boolean> {
    const found = await present(this.locker).query('SELECT 1 FROM pg_locks WHERE NOT granted')
    return found.rowCount !== 0
  }

  async unlockBook(): Promise<void> {
    await this.locker?.end().catch(() => undefined)
    this.locker = undefined
  }

  /** Entries of the account's stream that are not booked. */
  unbooked(): Promise<number> {
    return this.stack.withRedis((redis) => redis.xlen(ledgerStream(shardOf(this.account.accountId))))
  }
}
