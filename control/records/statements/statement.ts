import { coinDecimal } from '../../../contract/money/coin.ts'
import { formatTokens } from '../../../contract/money/lockTokens.ts'
import { decoded } from '../../../contract/money/tags.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { requireKept } from '../../book/partitions/archives.ts'
import { idBound } from '../../book/partitions/idTime.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'
import {
  chargesBehind,
  chargesPage,
  type Movement,
  othersBehind,
  type StatementMonth,
  type StatementPlace,
} from './movements.ts'

export type { StatementMonth } from './movements.ts'

const HEADINGS =
  'time,type,reference,key_id,model,endpoint,status,input_tokens,output_tokens,quantity,unit,amount_usd,coin_usd,credits_usd,coin,lock_series,lock_tokens,lock_usd,user,tags'
/** Kinds of transfers under the names that a customer reads; all others are shown as they are. */
const TYPES: Readonly<Record<string, string>> = { grant: 'credit_grant', expire: 'credit_expiry' }
const START: StatementPlace = { requestId: '', atMicros: 0, transferId: 0 }

/** A piece of a statement. */
export interface StatementPart {
  readonly text: string
  /** Cursor of the next part; empty after the last. */
  readonly next: string
}

/**
 * One part of a month's statement as CSV (RFC 4180): a bounded number of lines, in the order of time. The lines of all
 * parts add up to the ledger's movements of the account's coin, credits and tokens of compute locks.
 * @param part '' for the first part, else `next` of the part before
 * @throws GatewayError receipt_archived when receipts of the month are archived
 */
export async function statementPart(
  db: Queryable,
  month: StatementMonth,
  part: string,
  limits: RecordsLimits,
): Promise<StatementPart> {
  await requireKept(db, idBound(month.startMs), idBound(month.endMs))
  const place = part === '' ? START : (JSON.parse(part) as StatementPlace)
  const page = await chargesPage(db, month, limits)
  const [charges, others] = await Promise.all([
    chargesBehind(db, month, place.requestId, page + 1),
    othersBehind(db, month, place, limits.statementPageMax + 1),
  ])
  // Entries after the end of a full list are not known yet, so only lines up to the end of the shorter list are written.
  const lines = merged(charges, others).slice(0, page)
  const isLast = lines.length === charges.length + others.length
  const reached = Object.assign({}, place, ...lines.map((line) => line.place))
  const text = lines.map(lineOf).join('')
  return { text: part === '' ? `${HEADINGS}\r\n${text}` : text, next: isLast ? '' : JSON.stringify(reached) }
}

/** Two lists in the order of time as one. */
function merged(left: readonly Movement[], right: readonly Movement[]): Movement[] {
  const all: Movement[] = []
  for (let l = 0, r = 0; l < left.length || r < right.length; ) {
    const [first, second] = [left[l], right[r]]
    if (second === undefined || (first !== undefined && first.orderMs < second.orderMs)) {
      if (first !== undefined) all.push(first)
      l++
    } else {
      all.push(second)
      r++
    }
  }
  return all
}

function lineOf(line: Movement): string {
  const { coinNanos, coinUnits, creditUnits, tokens } = line
  const cells = [
    new Date(line.timeMs).toISOString(),
    ...[TYPES[line.kind] ?? line.kind, line.reference, line.keyId, line.model, line.endpoint, line.status].map(cell),
    line.inputTokens ?? '',
    line.outputTokens ?? '',
    line.quantity ?? '',
    line.unit,
    ...[coinUnits + creditUnits, coinUnits, creditUnits].map(formatUsd),
    coinDecimal(coinNanos),
    ...(tokens === null ? ['', '', ''] : [cell(tokens.seriesId), signedTokens(tokens.micros), formatUsd(tokens.units)]),
    cell(decoded(line.endUser)),
    cell(line.tags),
  ]
  return `${cells.join(',')}\r\n`
}

function signedTokens(micros: number): string {
  return micros < 0 ? `-${formatTokens(-micros)}` : formatTokens(micros)
}

/** A cell of text; one that a spreadsheet would take for a formula is marked as text. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
