import { promptTokens, type TokenUsage } from './charge.ts'
import { isoTime } from './isoTime.ts'
import { formatTokens } from './lockTokens.ts'
import { quoted } from './quoted.ts'
import type { ReceiptStatus } from './receiptStatus.ts'
import { settlementFee } from './settlementFee.ts'
import { decoded, tagsOf } from './tags.ts'
import { formatCoin, formatUsd, UNITS_PER_USD } from './units.ts'

export type ReceiptUsageSource = 'reported' | 'estimated' | 'none'
/** The rates that a request is charged by, as its price sheet names them; '' where that was never written down. */
export type ReceiptRate = 'standard' | 'batch' | ''
export type ReceiptTier = 'standard' | 'private' | ''

/**
 * The position of a receipt in the usage log of its shard. Single receipts include a proof (RFC 6962 audit path): hashes in
 * hex, and the entry whose leaf hash, SHA-256 of a zero byte and the entry, is in the log.
 */
export interface ReceiptLog {
  /** Of the log. */
  readonly number: number
  readonly position: number
  readonly proof?: {
    readonly entry: string
    readonly leaf: string
    readonly treeSize: number
    readonly root: string
    readonly path: readonly string[]
    /** The entry of the log of heads that has size and root of the tree, and the checkpoint that has that; once there is one. */
    readonly signed?: {
      readonly position: number
      readonly entry: string
      readonly treeSize: number
      readonly path: readonly string[]
      readonly note: string
    }
  }
}

/** The payment for a request. Tokens are in atomic units, decimal. */
export interface ReceiptPaid {
  /** The amount credited for the payment. */
  readonly units: number
  /** The smallest charge that the quote named, units. */
  readonly minUnits: number
  /** "coin" or "stablecoin". */
  readonly asset: string
  readonly token: string
  readonly amount: string
  readonly network: string
  readonly payer: string
  readonly transaction: string
  /** The ERC-8004 agent that the payer named, or empty. */
  readonly agent: string
  /** The refund, once it is known; its transaction is empty until it was sent. */
  readonly back?: { units: number; amount: string; transaction: string }
  /**
   * Units taken from the payer's credit, units added to it, and the credit after that, once the refund is decided: units +
   * used = cost + fee + back + kept.
   */
  readonly credit?: { usedUnits: number; keptUnits: number; leftUnits: number }
}

/** Tokens of a compute lock that a request has burnt. */
export interface ReceiptLock {
  readonly seriesId: string
  /** At the locked price. */
  readonly units: number
  readonly micros: number
}

/** The user and the tags of a request as contract/money/tags.ts has them, and what is needed to prove them. */
export interface ReceiptTagging {
  readonly user: string
  readonly tags: string
  readonly salt: string
  /** In the entry of the usage log; absent before the receipt is booked. */
  readonly hash?: string
}

/** Everything a receipt shows. The proxy fills it from a settlement, control from the book; both print the same. */
export interface ReceiptFields {
  readonly requestId: string
  readonly status: ReceiptStatus
  readonly model: string
  readonly endpoint: string
  readonly sheetVersion: number
  readonly rate: ReceiptRate
  readonly tier: ReceiptTier
  readonly costUnits: number
  readonly holdUnits: number
  /** USD per coin in units, of the sheet that the request was priced by. */
  readonly coinUsdUnits: number
  readonly usage: TokenUsage
  /** The quantity and unit of requests that are not priced by the token; 0 and '' for tokens. */
  readonly quantity: number
  readonly unit: string
  /** The size of images whose price depends on it, WxH, or ''. */
  readonly size: string
  /** The report of attested hardware that the private tier was served by, or ''. */
  readonly attestation: string
  readonly usageSource: ReceiptUsageSource
  readonly clamped: boolean
  readonly streamed: boolean
  /** When the hold was taken, by Redis's clock, so that the proxy and the book show the same. */
  readonly createdMs: number
  readonly durationMs: number
  /** From the arrival to the first output of a stream; 0 where none came, or where it was never written down. */
  readonly firstByteMs: number
  /** Attempts at providers; 0 where none was asked, or where they were never counted. */
  readonly tries: number
  /** A code of the error table, or null when the request succeeded. */
  readonly errorCode: string | null
  /** Of a request that was paid per call. */
  readonly paid?: ReceiptPaid
  /** Burnt in addition to `costUnits`; absent for none. */
  readonly lock?: ReceiptLock
  /** Absent for none. Of one that is shown to anybody, the hash alone. */
  readonly tagging?: ReceiptTagging | Pick<Required<ReceiptTagging>, 'hash'>
  readonly log?: ReceiptLog
}

/**
 * An amount as {units, usd, coin}, all decimal strings; the form of every amount that the gateway shows.
 * @param units safe integer, not negative
 * @param coinUsdUnits USD per coin in units
 */
export function amountJson(units: number, coinUsdUnits: number): string {
  const usd = formatUsd(units)
  const coin = coinUsdUnits === UNITS_PER_USD ? usd : formatCoin(units, coinUsdUnits)
  return `{"units":"${units}","usd":"${usd}","coin":"${coin}"}`
}

function usageJson({ usage, quantity, unit, size }: ReceiptFields): string {
  const prompt = promptTokens(usage)
  return (
    `{"prompt_tokens":${prompt},"completion_tokens":${usage.output},"total_tokens":${prompt + usage.output}` +
    `,"cached_tokens":${usage.cachedInput},"cache_write_tokens":${usage.cacheWrite5m + usage.cacheWrite1h}` +
    `,"cache_write_1h_tokens":${usage.cacheWrite1h},"reasoning_tokens":${usage.reasoning}` +
    (unit === '' && quantity === 0 ? '' : `,"quantity":${quantity},"unit":${quoted(unit)}`) +
    `${size === '' ? '' : `,"size":${quoted(size)}`}}`
  )
}

function paidJson(fields: ReceiptFields): string {
  const { paid } = fields
  if (paid === undefined) return ''
  const { coinUsdUnits, costUnits, status, errorCode } = fields
  const feeUnits = settlementFee({ ...paid, costUnits, status, errorCode })
  const { asset, token, amount, network, payer, transaction, agent, back, credit } = paid
  const rest = {
    asset,
    amount,
    token,
    network,
    payer,
    transaction,
    ...(agent === '' ? {} : { agent }),
  }
  const refund =
    back === undefined
      ? 'null'
      : `${amountJson(back.units, coinUsdUnits).slice(0, -1)},"amount":"${back.amount}","transaction":${
          back.transaction === '' ? 'null' : quoted(back.transaction)
        }}`
  const credited =
    credit === undefined
      ? 'null'
      : `{"used":${amountJson(credit.usedUnits, coinUsdUnits)},"kept":${amountJson(credit.keptUnits, coinUsdUnits)}` +
        `,"left":${amountJson(credit.leftUnits, coinUsdUnits)}}`
  return (
    `,"paid":${amountJson(paid.units, coinUsdUnits).slice(0, -1)},${JSON.stringify(rest).slice(1, -1)}` +
    `,"minimum_charge":${amountJson(paid.minUnits, coinUsdUnits)}` +
    `,"settlement_fee":${amountJson(feeUnits, coinUsdUnits)},"refund":${refund},"credit":${credited}}`
  )
}

function lockJson(lock: ReceiptLock | undefined): string {
  if (lock === undefined) return ''
  return `,"lock":{"series":"${lock.seriesId}","tokens":"${formatTokens(lock.micros)}","units":"${lock.units}"}`
}

function taggingJson(tagging: ReceiptFields['tagging']): string {
  if (tagging === undefined) return ''
  const hash = tagging.hash === undefined ? '' : `,"tags_hash":"${tagging.hash}"`
  if (!('salt' in tagging)) return hash
  const user = tagging.user === '' ? '' : `,"user":${quoted(decoded(tagging.user))}`
  return `${user},"tags":${JSON.stringify(tagsOf(tagging.tags))},"tags_salt":"${tagging.salt}"${hash}`
}

function logJson(log: ReceiptLog | undefined): string {
  if (log === undefined) return ''
  if (log.proof === undefined) return `,"log":{"number":${log.number},"position":${log.position}}`
  const { entry, leaf, treeSize, root, path, signed } = log.proof
  const head =
    signed === undefined
      ? 'null'
      : `{"position":${signed.position},"entry":${JSON.stringify(signed.entry)},"tree_size":${signed.treeSize},` +
        `"proof":${JSON.stringify(signed.path)}}`
  return (
    `,"log":{"number":${log.number},"position":${log.position},"leaf":"${leaf}","tree_size":${treeSize},"root":"${root}"` +
    `,"proof":${JSON.stringify(path)},"entry":${JSON.stringify(entry)},"head":${head}` +
    `,"checkpoint":${signed === undefined ? 'null' : JSON.stringify(signed.note)}}`
  )
}

function nameOrNull(name: string): string {
  return name === '' ? 'null' : `"${name}"`
}

function countOrNull(count: number): number | null {
  return count === 0 ? null : count
}

/**
 * The receipt as JSON text on one line. Put together by hand because it is made for every answer of the gateway.
 * @param fields amounts are units; times are milliseconds since 1970
 */
export function receiptJson(fields: ReceiptFields): string {
  return (
    `{"object":"receipt","request_id":"${fields.requestId}","status":"${fields.status}"` +
    `,"model":${quoted(fields.model)},"endpoint":"${fields.endpoint}","price_sheet":"${fields.sheetVersion}"` +
    `,"rate":${nameOrNull(fields.rate)},"tier":${nameOrNull(fields.tier)}` +
    (fields.attestation === '' ? '' : `,"attestation":${quoted(fields.attestation)}`) +
    `,"cost":${amountJson(fields.costUnits, fields.coinUsdUnits)}` +
    `,"hold":${amountJson(fields.holdUnits, fields.coinUsdUnits)}` +
    `,"usage":${usageJson(fields)},"usage_source":"${fields.usageSource}"` +
    `,"clamped":${fields.clamped},"streamed":${fields.streamed}` +
    `,"created":"${isoTime(fields.createdMs)}","duration_ms":${fields.durationMs}` +
    `,"first_token_ms":${fields.streamed ? countOrNull(fields.firstByteMs) : null},"tries":${countOrNull(fields.tries)}` +
    `,"error":${fields.errorCode === null ? 'null' : quoted(fields.errorCode)}` +
    `${taggingJson(fields.tagging)}${paidJson(fields)}${lockJson(fields.lock)}${logJson(fields.log)}}`
  )
}
