import type { Bytes } from './bytes.ts'
import { must } from './failed.ts'
import { type Burnt, readBurnt } from './lock.ts'
import { Members } from './members.ts'
import { readTagging, type Tagging } from './tags.ts'

export const STATUSES = ['ok', 'partial', 'failed', 'cut', 'orphaned'] as const
const USAGE_SOURCES = ['reported', 'estimated', 'none'] as const

/** An amount as a receipt shows it. */
export interface Amount {
  readonly units: bigint
  readonly usd: string
  readonly coin: string
}

export interface TokenUsage {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
  readonly output: number
  /** Part of `output`. */
  readonly reasoning: number
}

/** The payment of a request that was paid per call. */
export interface Paid {
  readonly amount: Amount
  readonly minimum: Amount
  readonly fee: Amount
  /** Null until it is known, and without a refund. */
  readonly refund: Amount | null
  /** Null until it is known. */
  readonly credit: { readonly used: Amount; readonly kept: Amount; readonly left: Amount } | null
}

/** The position of a receipt in its log, and the proof of it. */
export interface Place {
  readonly log: number
  readonly position: number
  readonly leaf: Bytes
  readonly treeSize: number
  readonly root: Bytes
  readonly proof: readonly Bytes[]
  readonly entry: string
  /** Absent until the receipt is in a checkpoint. */
  readonly signed?: {
    readonly position: number
    readonly entry: string
    readonly treeSize: number
    readonly proof: readonly Bytes[]
    readonly checkpoint: string
  }
}

/** The contents of a receipt. Unknown names are ''. */
export interface Receipt {
  readonly requestId: string
  readonly status: (typeof STATUSES)[number]
  readonly model: string
  readonly endpoint: string
  readonly sheetVersion: string
  readonly rate: string
  readonly tier: string
  readonly cost: Amount
  readonly hold: Amount
  readonly usage: TokenUsage
  readonly quantity: number
  readonly unit: string
  readonly size: string
  readonly usageSource: string
  readonly clamped: boolean
  readonly streamed: boolean
  readonly heldAtMs: number
  readonly durationMs: number
  readonly errorCode: string
  readonly paid: Paid | null
  /** Tokens of a compute lock that were burnt in addition to `cost`; null for none. */
  readonly lock: Burnt | null
  /** null for a request without tags and user. */
  readonly tagging: Tagging | null
  readonly place: Place
}

/** Reads a receipt. @throws Failed that names the missing or invalid member */
export function readReceipt(json: unknown): Receipt {
  const receipt = new Members(json, 'receipt')
  receipt.oneOf('object', ['receipt'])
  const created = receipt.text('created')
  const heldAtMs = Date.parse(created)
  must(!Number.isNaN(heldAtMs) && new Date(heldAtMs).toISOString() === created, 'receipt.created is not a time')
  return {
    requestId: receipt.text('request_id'),
    status: receipt.oneOf('status', STATUSES),
    model: receipt.text('model'),
    endpoint: receipt.text('endpoint'),
    sheetVersion: String(receipt.digits('price_sheet')),
    rate: receipt.isNull('rate') ? '' : receipt.oneOf('rate', ['standard', 'batch']),
    tier: receipt.isNull('tier') ? '' : receipt.oneOf('tier', ['standard', 'private']),
    cost: readAmount(receipt.object('cost')),
    hold: readAmount(receipt.object('hold')),
    ...readUsage(receipt.object('usage')),
    usageSource: receipt.oneOf('usage_source', USAGE_SOURCES),
    clamped: receipt.flag('clamped'),
    streamed: receipt.flag('streamed'),
    heldAtMs,
    durationMs: receipt.count('duration_ms'),
    errorCode: receipt.textOrNull('error'),
    paid: receipt.has('paid') ? readPaid(receipt.object('paid')) : null,
    lock: receipt.has('lock') ? readBurnt(receipt.object('lock')) : null,
    tagging: readTagging(receipt),
    place: readPlace(receipt.object('log')),
  }
}

function readAmount(amount: Members): Amount {
  return { units: amount.digits('units'), usd: amount.text('usd'), coin: amount.text('coin') }
}

function readUsage(usage: Members) {
  const prompt = usage.count('prompt_tokens')
  const output = usage.count('completion_tokens')
  must(usage.count('total_tokens') === prompt + output, 'receipt.usage.total_tokens is not the sum of the tokens')
  const cachedInput = usage.count('cached_tokens')
  const written = usage.count('cache_write_tokens')
  const cacheWrite1h = usage.count('cache_write_1h_tokens')
  const cacheWrite5m = written - cacheWrite1h
  const input = prompt - cachedInput - written
  must(cacheWrite5m >= 0 && input >= 0, 'receipt.usage counts parts of the prompt that are more than the prompt')
  const isCounted = usage.has('unit')
  const tokens: TokenUsage = {
    input,
    cachedInput,
    cacheWrite5m,
    cacheWrite1h,
    output,
    reasoning: usage.count('reasoning_tokens'),
  }
  return {
    usage: tokens,
    quantity: isCounted ? usage.count('quantity') : 0,
    unit: isCounted ? usage.text('unit') : '',
    size: usage.has('size') ? usage.text('size') : '',
  }
}

function readPaid(paid: Members): Paid {
  const credit = paid.isNull('credit') ? null : paid.object('credit')
  return {
    amount: readAmount(paid),
    minimum: readAmount(paid.object('minimum_charge')),
    fee: readAmount(paid.object('settlement_fee')),
    refund: paid.isNull('refund') ? null : readAmount(paid.object('refund')),
    credit: credit && {
      used: readAmount(credit.object('used')),
      kept: readAmount(credit.object('kept')),
      left: readAmount(credit.object('left')),
    },
  }
}

function readPlace(log: Members): Place {
  const place: Place = {
    log: log.count('number'),
    position: log.count('position'),
    leaf: log.hash('leaf'),
    treeSize: log.count('tree_size'),
    root: log.hash('root'),
    proof: log.hashes('proof'),
    entry: log.text('entry'),
  }
  if (log.isNull('head') && log.isNull('checkpoint')) return place
  const head = log.object('head')
  const signed = {
    position: head.count('position'),
    entry: head.text('entry'),
    treeSize: head.count('tree_size'),
    proof: head.hashes('proof'),
    checkpoint: log.text('checkpoint'),
  }
  return { ...place, signed }
}
