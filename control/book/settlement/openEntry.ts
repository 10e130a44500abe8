import { sluice } from '../../../contract/wire/generated/messages.js'
import { amount, identifier } from '../receipt/values.ts'
import { type Delivered, ENDINGS, type Entry, endedEntry, fieldOf, parseEntry, type RawEntry } from './entry.ts'

/** A stream entry that is split into its endings, which are not parsed yet. */
export interface OpenEntry {
  readonly raw: RawEntry
  /** Its size against the bounds of a batch: the number of endings, or one for anything else; zero for a deleted entry. */
  readonly size: number
  readonly endings?: readonly Delivered[]
  /** Why the entry could not be split. */
  readonly fault?: string
}

/** Splits an entry into its endings. Never throws. */
export function openEntry(raw: RawEntry): OpenEntry {
  if (raw.fields === null) return { raw, size: 0 }
  const encoded = fieldOf(raw, ENDINGS)
  if (encoded === undefined) return { raw, size: 1 }
  try {
    const endings = endingsOf(encoded)
    return { raw, size: endings.length, endings }
  } catch (error) {
    return { raw, size: 1, fault: (error as Error).message }
  }
}

/** Reads all that an open entry carries. Never throws: an unreadable ending is returned as malformed, by itself. */
export function entriesOf({ raw, endings, fault }: OpenEntry): Entry[] {
  // A deleted entry only has to be acknowledged.
  if (raw.fields === null) return []
  if (fault !== undefined) return [{ kind: 'malformed', raw, reason: fault }]
  return endings === undefined ? [parseEntry(raw)] : endings.map((delivered) => parseEnding(raw, delivered))
}

/** Reads all that stream entries carry, in their order. */
export function parseEntries(raws: readonly RawEntry[]): Entry[] {
  return raws.flatMap((raw) => entriesOf(openEntry(raw)))
}

/**
 * Divides entries into parts of about the same size, for one transaction each.
 * @param most size of a part; a larger entry is a part by itself
 */
export function inParts(entries: readonly OpenEntry[], most: number): OpenEntry[][] {
  const total = sizeOf(entries)
  const enough = Math.max(1, Math.ceil(total / Math.ceil(total / most)))
  const parts: OpenEntry[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const entry of entries) {
    if (size >= enough || size + entry.size > most) {
      parts.push([])
      size = 0
    }
    parts.at(-1)?.push(entry)
    size += entry.size
  }
  return parts
}

/** The total size of entries. */
export function sizeOf(entries: readonly OpenEntry[]): number {
  let size = 0
  for (const entry of entries) size += entry.size
  return size
}

function endingsOf(encoded: Buffer): Delivered[] {
  const { owner, from, endings } = sluice.UnreadEndings.decode(encoded)
  identifier('owner', owner)
  if (amount('from', from) === 0) throw new Error('endings are numbered from 1')
  if (endings.length === 0) throw new Error('the entry has no endings')
  amount('from', from + endings.length)
  return endings.map((bytes, place) => ({ owner, seq: from + place, bytes }))
}

function parseEnding(raw: RawEntry, delivered: Delivered): Entry {
  try {
    const { settlement: decoded, voided, heldAtMs, split } = sluice.Ended.decode(delivered.bytes)
    if (!decoded) throw new Error('the ending has no settlement')
    const settlement = decoded as sluice.Settlement
    const charged = voided ? -1 : amount('charge_units', settlement.chargeUnits)
    amount('held_at_ms', heldAtMs)
    return endedEntry({ raw, delivered }, { settlement, charged, heldAtMs, split })
  } catch (error) {
    return { kind: 'malformed', raw, delivered, reason: (error as Error).message }
  }
}
