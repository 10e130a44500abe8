import { BUSY_MICROS_MAX, ceilingOf, firstCeiling, type ProcessName, SPLITS } from './ceilings.ts'

/** The measured costs of one installation; `scripts/docs/capacity.mjs` takes them from bench/results. */
export interface CapacityFigures {
  /** When they were measured, as YYYY-MM-DD. */
  readonly at: string
  readonly cpu: string
  /** CPU time of a small request by process, in microseconds, for keys in use all the time, and for keys that are used once. */
  readonly requestMicros: Readonly<Record<KeyUse, Readonly<Record<ProcessName, number>>>>
  /** CPU time of the proxy for one chunk of a paced stream, in microseconds. */
  readonly chunkMicros: number
  /** The most streams that one worker was measured with. */
  readonly workerStreamsMax: number
  /** The most memory of a proxy with one worker, with streams open. */
  readonly workerBytes: number
  readonly walBytesPerReceipt: number
}

export type KeyUse = 'hot' | 'cold'

export interface CapacityDemand {
  /** Requests that begin each second, those of streams among them. */
  readonly requests: number
  /** Streams that are open at a time. */
  readonly streams: number
  /** Chunks a second of each stream. */
  readonly chunks: number
  readonly keys: KeyUse
  /** Accounts whose keys are in use within an hour. */
  readonly accounts: number
}

export interface CapacityPlan {
  /** Workers, each with a core of its own. */
  readonly workers: number
  readonly proxyBytes: number
  /** One to the client and one to the provider for each stream and each request in flight within a second. */
  readonly descriptors: number
  readonly redisCores: number
  readonly redisBytes: number
  readonly controlCores: number
  /** Cores of PostgreSQL, over all books. */
  readonly postgresCores: number
  /** Separate books, each with a PostgreSQL, an installation and accounts of its own: 1 where one carries the rate. */
  readonly books: number
  /** The rate that one book carries, and the process that ends it. */
  readonly bookRequestsMax: number
  readonly bound: ProcessName
  readonly walBytesPerDay: number
  readonly diskBytesPerDay: number
}

const SECONDS_PER_DAY = 86_400
/** A receipt with its postings and indexes (docs/performance.md, a book of 30 million receipts). */
const BOOK_BYTES_PER_RECEIPT = 1_000
/** Of an account in use: its key, balance, counters and leases. Estimated, not measured. */
const REDIS_BYTES_PER_ACCOUNT = 8_192
/** Of Redis itself and of streams that control is about to book. Estimated, not measured. */
const REDIS_BASE_BYTES = 268_435_456

function coresOf(micros: number): number {
  return Math.max(1, Math.ceil(micros / BUSY_MICROS_MAX))
}

/**
 * The installation that carries a demand, if everything goes on costing what it cost in the measurement. Cores are four fifths busy,
 * and nothing is added for a machine that is lost.
 */
export function planCapacity(demand: CapacityDemand, figures: CapacityFigures): CapacityPlan {
  const { requests, streams, chunks, keys, accounts } = demand
  const micros = figures.requestMicros[keys]
  const proxyMicros = requests * micros.proxy + streams * chunks * figures.chunkMicros
  const workers = Math.max(coresOf(proxyMicros), Math.ceil(streams / figures.workerStreamsMax))
  const first = firstCeiling(micros, SPLITS) ?? {
    process: 'postgres',
    rate: ceilingOf(micros.postgres, SPLITS.postgres),
  }
  return {
    workers,
    proxyBytes: workers * figures.workerBytes,
    descriptors: 2 * (streams + requests),
    redisCores: coresOf(requests * micros.redis),
    redisBytes: REDIS_BASE_BYTES + accounts * REDIS_BYTES_PER_ACCOUNT,
    controlCores: coresOf(requests * micros.control),
    postgresCores: coresOf(requests * micros.postgres),
    books: Math.max(1, Math.ceil(requests / first.rate)),
    bookRequestsMax: Math.floor(first.rate),
    bound: first.process,
    walBytesPerDay: requests * SECONDS_PER_DAY * figures.walBytesPerReceipt,
    diskBytesPerDay: requests * SECONDS_PER_DAY * BOOK_BYTES_PER_RECEIPT,
  }
}
