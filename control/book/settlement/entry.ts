import { type CoinPart, parseCoinPart } from '../../../contract/wire/coinPart.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { coinAccount, isLockId, potAccount } from '../ledger/accounts.ts'
import { leafText, type Receipt, receiptOf } from '../receipt/generated/receipt.ts'
import { tagsHash } from '../receipt/tagsHash.ts'
import { amount, identifier, integer, Malformed, notAmount } from '../receipt/values.ts'
import { leafHash } from '../usagelog/merkle.ts'

/** An entry of a ledger stream as Redis answers it: id, then names and values in turn (none when it was deleted). */
export interface RawEntry {
  readonly shard: number
  readonly id: string
  readonly fields: Buffer[] | null
}

/** Where a part of a charge was taken from. */
export interface ChargePart {
  readonly ledgerAccount: string
  readonly units: number
  /** The change of the account: nanos of coin, or the units of a grant or of tokens. */
  readonly amount: number
  /** The series of tokens that are burnt; absent for a charge. */
  readonly seriesId?: string
}

/** An ending as a proxy process has numbered and delivered it, one of those that an entry carries. */
export interface Delivered {
  readonly owner: string
  readonly seq: number
  /** The Ended message as it came. */
  readonly bytes: Uint8Array
}

/** The source of a booking. */
export interface EntrySource {
  readonly raw: RawEntry
  /** Absent where the entry carries one thing alone. */
  readonly delivered?: Delivered
}

export interface EndedEntry extends EntrySource {
  readonly kind: 'ended'
  readonly receipt: Receipt
  readonly parts: ChargePart[]
}
export interface ExpiredEntry extends EntrySource {
  readonly kind: 'expired'
  /** A credit grant, or the series of a holding. */
  readonly potId: string
  readonly ledgerAccount: string
  readonly units: number
}
export interface MalformedEntry extends EntrySource {
  readonly kind: 'malformed'
  readonly reason: string
}
export type Entry = EndedEntry | ExpiredEntry | MalformedEntry
export type BookableEntry = EndedEntry | ExpiredEntry

/** The layout of leaves that are booked now. */
const LEAF_LAYOUT = 2
/** That of receipts which have burnt tokens of a compute lock. */
const LOCK_LEAF_LAYOUT = 3
/** That of receipts which have tags or a user. */
const TAGS_LEAF_LAYOUT = 4
/** The names of the fields of an entry, as their bytes. */
const SETTLEMENT = 0x65 // e
const CHARGED = 0x63 // c
const HELD_AT = 0x74 // t
const SPLIT = 0x73 // s
const EXPIRED_GRANT = 0x78 // x
const ACCOUNT = 0x61 // a
export const ENDINGS = 0x62 // b
type Field =
  | (typeof SETTLEMENT | typeof CHARGED | typeof HELD_AT | typeof SPLIT)
  | (typeof EXPIRED_GRANT | typeof ACCOUNT | typeof ENDINGS)

const NO_HASH = Buffer.alloc(0)

/** How a request ended, with its charge as Redis or the proxy reports it. */
export interface EndingFacts {
  readonly settlement: sluice.Settlement
  /** Units, or -1 where nothing is charged. */
  readonly charged: number
  readonly heldAtMs: number
  /** grantId=units,...,coin=units:nanos */
  readonly split: string
}

/** Reads an entry that carries one thing. Never throws: an unreadable entry is returned as malformed, with the reason. */
export function parseEntry(raw: RawEntry): Entry {
  try {
    return fieldOf(raw, EXPIRED_GRANT) === undefined ? parseEnded(raw) : parseExpired(raw)
  } catch (error) {
    return { kind: 'malformed', raw, reason: (error as Error).message }
  }
}

/** @throws Error with the reason why it cannot be booked */
export function endedEntry(from: EntrySource, facts: EndingFacts): EndedEntry {
  const { settlement, charged, split } = facts
  const parts = partsOf(split, identifier('account_id', settlement.accountId))
  const burnt = parts.find(({ seriesId }) => seriesId !== undefined)
  const receipt = loggedReceipt(facts, burnt)
  let units = -receipt.lockUnits
  for (const part of parts) units += part.units
  if (units !== receipt.chargeUnits) throw new Malformed(`the split is ${units} units, the charge ${charged}`)
  const takenUnits = receipt.chargeUnits + receipt.lockUnits
  if (takenUnits > receipt.holdUnits) throw new Malformed(`charged ${takenUnits} of ${receipt.holdUnits} held`)
  return { kind: 'ended', raw: from.raw, delivered: from.delivered, receipt, parts }
}

/** The value of the field that has this one character for its name. */
export function fieldOf(raw: RawEntry, name: Field): Buffer | undefined {
  const values = raw.fields ?? []
  for (let i = 0; i + 1 < values.length; i += 2) {
    const found = values[i]
    if (found?.length === 1 && found[0] === name) return values[i + 1]
  }
  return undefined
}

function parseExpired(raw: RawEntry): Entry {
  const potId = identifier('x', String(fieldOf(raw, EXPIRED_GRANT)))
  const accountId = isLockId(potId) ? identifier('a', String(fieldOf(raw, ACCOUNT) ?? '')) : ''
  const units = integer('c', String(fieldOf(raw, CHARGED)), 1)
  return { kind: 'expired', raw, potId, ledgerAccount: potAccount(potId, accountId), units }
}

function parseEnded(raw: RawEntry): Entry {
  const encoded = fieldOf(raw, SETTLEMENT)
  if (encoded === undefined) throw new Malformed('the entry has no settlement')
  const settlement = sluice.Settlement.decode(encoded)
  const charged = integer('c', String(fieldOf(raw, CHARGED)), -1)
  const heldAtMs = integer('t', String(fieldOf(raw, HELD_AT)), 0)
  return endedEntry({ raw }, { settlement, charged, heldAtMs, split: String(fieldOf(raw, SPLIT) ?? '') })
}

function loggedReceipt({ settlement, charged, heldAtMs, split }: EndingFacts, burnt: ChargePart | undefined): Receipt {
  const { endUser, tags, tagsSalt: salt } = settlement
  const isTagged = tags !== '' || endUser !== ''
  const receipt = receiptOf(settlement, {
    leafLayout: isTagged ? TAGS_LEAF_LAYOUT : burnt === undefined ? LEAF_LAYOUT : LOCK_LEAF_LAYOUT,
    chargeUnits: Math.max(charged, 0),
    voided: charged < 0,
    split,
    heldAtMs,
    lockSeries: burnt?.seriesId ?? '',
    lockUnits: burnt?.units ?? 0,
    lockMicros: burnt === undefined ? 0 : microsOf(settlement, burnt),
    tagsHash: isTagged ? tagsHash({ user: endUser, tags, salt }) : '',
    leafHash: NO_HASH,
  })
  receipt.leafHash = leafHash(leafText(receipt))
  return receipt
}

/** Micro-tokens that were burnt. @throws Malformed where the settlement and the split differ */
function microsOf({ lockSeries, lockUnits, lockMicros }: sluice.Settlement, { seriesId, units }: ChargePart): number {
  if (lockSeries === seriesId && lockUnits === units) return amount('lock_micros', lockMicros)
  throw new Malformed(`the split burns ${units} units of ${seriesId}, the settlement ${lockUnits} of ${lockSeries}`)
}

/** Reads `grantId=units,...,coin=units:nanos` into ledger accounts. */
function partsOf(split: string, accountId: string): ChargePart[] {
  if (split === '') return []
  // Most charges are of coin alone.
  if (!split.includes(',')) return [partOf(split, accountId)]
  return split.split(',').map((part) => partOf(part, accountId))
}

function partOf(text: string, accountId: string): ChargePart {
  const end = text.indexOf('=')
  const [name, units] = end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)]
  if (name === 'coin') {
    const coin = coinOf(units)
    return { ledgerAccount: coinAccount(accountId), units: coin.coinUnits, amount: coin.coinNanos }
  }
  const granted = integer('split', units, 1)
  const ledgerAccount = potAccount(identifier('split', name), accountId)
  const part = { ledgerAccount, units: granted, amount: granted }
  return isLockId(name) ? { ...part, seriesId: name } : part
}

function coinOf(text: string): CoinPart {
  const coin = parseCoinPart(text)
  if (!/^\d{1,16}(:\d{1,16})?$/.test(text)) throw notAmount('split', text)
  for (const part of [coin.coinUnits, coin.coinNanos])
    if (amount('split', part) === 0) throw new Malformed('split is zero')
  return coin
}
