import { coinDecimal } from '../../../contract/money/coin.ts'
import { formatTokens } from '../../../contract/money/lockTokens.ts'
import { decoded, tagsIn, tagsOf } from '../../../contract/money/tags.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { requireKept } from '../../book/partitions/archives.ts'
import { idBound } from '../../book/partitions/idTime.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { csvCell } from '../csvCell.ts'
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

/** Kinds of transfers under the names that a customer reads; all others are shown as they are. */
const TYPES: Readonly<Record<string, string>> = { grant: 'credit_grant', expire: 'credit_expiry' }
const START: Cursor = { requestId: '', atMicros: 0, transferId: 0, isBegun: false }

/** Which lines a statement has, and how it is written. */
export interface StatementQuery extends StatementMonth {
  readonly form: StatementForm
  /** A tag `name=value` and a user, as contract/money/tags.ts has them: only charges with these; '' for every line. */
  readonly tag: string
  readonly user: string
}

/** How far a statement has been written. */
interface Cursor extends StatementPlace {
  /** It has a line. */
  readonly isBegun: boolean
}

/** A piece of a statement. */
export interface StatementPart {
  readonly text: string
  /** Cursor of the next part; empty after the last. */
  readonly next: string
}

/**
 * One part of a month's statement: a bounded number of lines, in the order of time. Without a tag or a user, the lines of all
 * parts add up to the ledger's movements of the account's coin, credits and tokens of compute locks.
 * @param part '' for the first part, else `next` of the part before
 * @throws GatewayError receipt_archived when receipts of the month are archived
 */
export async function statementPart(
  db: Queryable,
  query: StatementQuery,
  part: string,
  limits: RecordsLimits,
): Promise<StatementPart> {
  await requireKept(db, idBound(query.startMs), idBound(query.endMs))
  const cursor = part === '' ? START : (JSON.parse(part) as Cursor)
  const page = await chargesPage(db, query, limits)
  const [charges, others] = await Promise.all([
    chargesBehind(db, query, cursor.requestId, page + 1),
    query.tag === '' && query.user === '' ? othersBehind(db, query, cursor, limits.statementPageMax + 1) : [],
  ])
  // Entries after the end of a full list are not known yet, so only lines up to the end of the shorter list are written.
  const lines = merged(charges, others).slice(0, page)
  const isLast = lines.length === charges.length + others.length
  const { head, between, tail, line } = FORMS[query.form]
  // Chosen here, so that a part reads a bounded number of receipts, however few of them have the tag.
  const texts = lines.filter((each) => isOf(each, query)).map(line)
  const isBegun = cursor.isBegun || texts.length > 0
  const text = `${part === '' ? head : ''}${cursor.isBegun && texts.length > 0 ? between : ''}${texts.join(between)}${isLast ? tail : ''}`
  return {
    text,
    next: isLast ? '' : JSON.stringify(Object.assign({}, cursor, { isBegun }, ...lines.map(({ place }) => place))),
  }
}

function isOf({ tags, endUser }: Movement, { tag, user }: StatementQuery): boolean {
  return (tag === '' || tagsIn(tags).includes(tag)) && (user === '' || endUser === user)
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

/** The columns of a statement, in their order; '' and null for what a line does not have. */
const COLUMNS = {
  time: ({ timeMs }) => new Date(timeMs).toISOString(),
  type: ({ kind }) => TYPES[kind] ?? kind,
  reference: ({ reference }) => reference,
  key_id: ({ keyId }) => keyId,
  model: ({ model }) => model,
  endpoint: ({ endpoint }) => endpoint,
  status: ({ status }) => status,
  input_tokens: ({ inputTokens }) => inputTokens,
  output_tokens: ({ outputTokens }) => outputTokens,
  quantity: ({ quantity }) => quantity,
  unit: ({ unit }) => unit,
  amount_usd: ({ coinUnits, creditUnits }) => formatUsd(coinUnits + creditUnits),
  coin_usd: ({ coinUnits }) => formatUsd(coinUnits),
  credits_usd: ({ creditUnits }) => formatUsd(creditUnits),
  coin: ({ coinNanos }) => coinDecimal(coinNanos),
  lock_series: ({ tokens }) => tokens?.seriesId ?? '',
  lock_tokens: ({ tokens }) => (tokens === null ? '' : signedTokens(tokens.micros)),
  lock_usd: ({ tokens }) => (tokens === null ? '' : formatUsd(tokens.units)),
  user: ({ endUser }) => decoded(endUser),
  tags: ({ tags }) => tags,
} as const satisfies Readonly<Record<string, (line: Movement) => string | number | null>>

interface Form {
  readonly head: string
  line(line: Movement): string
  readonly between: string
  readonly tail: string
}

const FORMS = {
  /** RFC 4180. */
  csv: {
    head: `${Object.keys(COLUMNS).join()}\r\n`,
    line: (line) =>
      `${Object.values(COLUMNS)
        .map((value) => csvCell(value(line) ?? ''))
        .join()}\r\n`,
    between: '',
    tail: '',
  },
  json: {
    head: '{"object":"list","data":[',
    line: (line) => {
      const members = Object.entries(COLUMNS).map(([name, value]) => [name, orNull(value(line))])
      return JSON.stringify({ object: 'movement', ...Object.fromEntries(members), tags: tagsOf(line.tags) })
    },
    between: ',\n',
    tail: ']}\n',
  },
} as const satisfies Readonly<Record<string, Form>>

export type StatementForm = keyof typeof FORMS

const orNull = (value: string | number | null): string | number | null => (value === '' ? null : value)

function signedTokens(micros: number): string {
  return micros < 0 ? `-${formatTokens(-micros)}` : formatTokens(micros)
}
