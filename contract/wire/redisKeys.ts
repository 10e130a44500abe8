import { fnv1a } from '../std/fnv1a.ts'
import { FixedArguments } from './scriptArguments.ts'

/** Shards of the admission state; an account lives wholly in one, under one Redis Cluster hash tag. */
export const SHARD_COUNT = 64

const TAGS = Array.from({ length: SHARD_COUNT }, (_, shard) => `{s${shard.toString().padStart(2, '0')}}`)

/** The shard of an account: FNV-1a over its id, so that it never has to be stored with the account. */
export function shardOf(accountId: string): number {
  return (fnv1a(accountId) >>> 0) % SHARD_COUNT
}

/** Hash: coin, g (grants), seq. See lua/README.md for the fields of every key here. */
export const accountKey = (shard: number, accountId: string): string => `acct:${TAGS[shard]}:${accountId}`
/** Hash: spending counters and the rate limiter of one API key. */
export const keyCountersKey = (shard: number, keyId: string): string => `key:${TAGS[shard]}:${keyId}`
/** Hash: request id to hold, for the requests of one proxy process. */
export const holdsKey = (shard: number, owner: string): string => `holds:${TAGS[shard]}:${owner}`
/** Hash: the leases of one proxy process in a shard, with the numbers of its last call and its last ending. */
export const leasesKey = (shard: number, owner: string): string => `leases:${TAGS[shard]}:${owner}`
/** String: the number of the loading that last wrote the shard. */
export const loadGuardKey = (shard: number): string => `load:${TAGS[shard]}`
/** String: the epoch of the admission state; absent while admission is closed. */
export const epochKey = (shard: number): string => `epoch:${TAGS[shard]}`
/** Prefix of the hashes that remember first results for a few minutes, one hash a minute. */
export const donePrefix = (shard: number): string => `done:${TAGS[shard]}`
/** Hash: debit id to coin that is taken off an account until the book has moved it. */
export const debitsKey = (shard: number): string => `debits:${TAGS[shard]}`
/** Stream: ended requests on their way to the book. */
export const ledgerStream = (shard: number): string => `ledger:${TAGS[shard]}`
/** Prefix of `holdsKey`, for scripts that find out the owner as they run. */
export const holdsPrefix = (shard: number): string => `holds:${TAGS[shard]}`
/** Hash: what counts against a quota. @param subject of whom or what it is, see proxy/quotas/pot.ts */
export const quotaKey = (shard: number, subject: string): string => `quota:${TAGS[shard]}:${subject}`
/** Hash: one video job, under the tag of its account. */
export const videoKey = (shard: number, videoId: string): string => `video:${TAGS[shard]}:${videoId}`
/** Hash: request id to `owner|openedAtMs`, for the video jobs of one key that are not billed yet. */
export const videoSlotsKey = (shard: number, keyId: string): string => `videos:${TAGS[shard]}:${keyId}`
/** String: the shard of a video job, for lookups by its id alone. */
export const videoShardKey = (videoId: string): string => `videoshard:${videoId}`

/** Stream: RefusalRecords of the refused requests of a shard's accounts. */
export const refusalsKey = (shard: number): string => `refusals:${TAGS[shard]}`

/** The keys of an account and of one of its API keys, in the order of hold.lua and settle.lua. */
export function accountKeys(shard: number, accountId: string, keyId: string): FixedArguments {
  return new FixedArguments(accountKey(shard, accountId), keyCountersKey(shard, keyId))
}

/** The keys around those of an account in an item of hold.lua or settle.lua, for the requests of one owner in one shard. */
export interface ShardKeys {
  readonly epoch: FixedArguments
  readonly behindHold: FixedArguments
  readonly behindSettle: FixedArguments
}

export function shardKeys(shard: number, owner: string): ShardKeys {
  const behindHold = [holdsKey(shard, owner), ledgerStream(shard)]
  return {
    epoch: new FixedArguments(epochKey(shard)),
    behindHold: new FixedArguments(...behindHold),
    behindSettle: new FixedArguments(...behindHold, donePrefix(shard)),
  }
}

/** The keys of one item of settle.lua, in its order. */
export function settleKeys(shard: number, accountId: string, keyId: string, owner: string): FixedArguments[] {
  const { epoch, behindSettle } = shardKeys(shard, owner)
  return [epoch, accountKeys(shard, accountId, keyId), behindSettle]
}

export const LEDGER_GROUP = 'control'
/** The owner of the holds of batch jobs, which are control's and outlive every process. */
export const BATCH_OWNER = 'batches'
/** String: the servers for which admission was opened, as `serversOf` names them. */
export const SERVERS_KEY = 'servers'
/** Sorted set: proxy processes by their last heartbeat on Redis's clock, in milliseconds. */
export const OWNERS_KEY = 'owners'
/** Hash: proxy process to the number of the loading that it has reported its leases to. */
export const REPORTED_KEY = 'reported'
/** Pub/sub channel: ids of accounts whose idle leases are recalled. */
export const RECALL_CHANNEL = 'recall'
/** Pub/sub channel: ids of accounts whose free balance is read: leases that rest are given back. */
export const REST_CHANNEL = 'rest'
/**
 * Pub/sub channel: ids of requests whose state is asked for; the proxy process that serves one answers with `askedKey`, the others
 * with `deniedKey`.
 */
export const ASK_CHANNEL = 'ask'
/** String, for a few seconds: `open` while the request is served, `ended` once its ending is on its way to the book. */
export const askedKey = (requestId: string): string => `asked:${requestId}`
/** String, for a few seconds: this proxy process does not serve the request. Those of a request are in one slot. */
export const deniedKey = (requestId: string, owner: string): string => `denied:{${requestId}}:${owner}`
/** Pub/sub channel: numbers of loadings that wait for the proxies to report their leases. */
export const REPORT_CHANNEL = 'report'
/** String: the CatalogRecord in force. */
export const CATALOG_KEY = 'catalog'
/** String: the StatusRecord in force. */
export const STATUS_KEY = 'status'
/** Hash: proxy process to the RouteView of what it sees. */
export const ROUTE_VIEWS_KEY = 'routes'
/** String: the ServingRecord in force. */
export const SERVING_KEY = 'serving'
/** String: the last KeptAnswer to a public read. @param path of the request, without a query */
export const keptAnswerKey = (path: string): string => `answer:${path}`
/** String: the sealed record of an API key, or a claim to it. @param name of the key; see keptKeys.ts */
export const keyRecordKey = (shard: number, name: string): string => `keyrec:${TAGS[shard]}:${name}`
/** String, while the changes of keys are announced: without it the proxies use no records of `keyRecordKey`. */
export const ANNOUNCED_KEY = 'announced'
/** Stream: FeedEvents from control to every proxy. */
export const FEED_STREAM = 'feed'
/** Streams: RpcRequests from the proxies that requests wait for, those that only read, the account API's, and payments. */
export const RPC_STREAM = 'rpc'
export const RPC_READS_STREAM = 'rpc:reads'
export const RPC_API_STREAM = 'rpc:api'
export const RPC_PAYMENTS_STREAM = 'rpc:payments'
/** Batch jobs, whose bodies are large. */
export const RPC_BATCHES_STREAM = 'rpc:batches'
export const RPC_GROUP = 'control'
/** Pub/sub channel: RpcReplies to one proxy process. */
export const rpcReplyChannel = (owner: string): string => `rpc:reply:${owner}`
/** Stream: RefusalRecords of requests with keys that are not in force. */
export const UNKNOWN_REFUSALS_KEY = 'refusals'
/** Pub/sub channel: ids of video jobs that another process asks this proxy process about. */
export const videoWakeChannel = (owner: string): string => `video:wake:${owner}`
