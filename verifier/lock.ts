import { Failed, must } from './failed.ts'
import { Members } from './members.ts'
import { dividedUp } from './money.ts'
import { type Price, readPrice } from './sheet.ts'

/** Micro-tokens in a whole token. */
const MICROS_PER_TOKEN = 1_000_000n
const SERIES = /^lock_[0-9A-HJKMNP-TV-Z]{26}$/

/** Tokens of a compute lock that were burnt according to a receipt. */
export interface Burnt {
  readonly series: string
  readonly micros: bigint
  /** At the locked price. */
  readonly units: bigint
}

/** The parts of a series of compute locks that a receipt needs. */
export interface Series {
  readonly id: string
  readonly model: string
  /** Units of one micro-token. */
  readonly microUnits: bigint
  readonly price: Price
}

/** Reads the member `lock` of a receipt. @throws Failed that names the invalid member */
export function readBurnt(lock: Members): Burnt {
  const series = lock.text('series')
  must(SERIES.test(series), 'receipt.lock.series is not the id of a series')
  const [, whole, fraction] = /^(0|[1-9]\d{0,9})\.(\d{6})$/.exec(lock.text('tokens')) ?? []
  if (whole === undefined || fraction === undefined) throw new Failed('receipt.lock.tokens is no amount of tokens')
  return { series, micros: BigInt(whole) * MICROS_PER_TOKEN + BigInt(fraction), units: lock.digits('units') }
}

/**
 * Reads a series: as GET /v1/locks shows it, or from that whole answer.
 * @param id of the series that is asked for
 * @throws Failed that names the invalid member
 */
export function readSeries(json: unknown, id: string): Series {
  const file = new Members(json, 'series')
  const series = file.has('data') ? file.objects('data').find((one) => one.text('id') === id) : file
  if (series === undefined || series.text('id') !== id) throw new Failed(`the file has no series ${id}`)
  const tokenUnits = series.object('locked_price').digits('units')
  must(tokenUnits > 0n && tokenUnits % MICROS_PER_TOKEN === 0n, 'series.locked_price is not a price of a series')
  const price = readPrice(series.object('price'))
  return { id, model: series.text('model'), microUnits: tokenUnits / MICROS_PER_TOKEN, price }
}

/**
 * The part of a request with burnt tokens that is charged at the price sheet.
 * @param lockUnits the charge at the prices of the series, before it is rounded up to micro-tokens
 * @param sheetUnits the charge of the whole request at the price sheet
 * @throws Failed if tokens and units do not match, or more was burnt than the request costs
 */
export function sheetPart(burnt: Burnt, series: Series, lockUnits: bigint, sheetUnits: bigint): bigint {
  const { microUnits } = series
  must(burnt.units === burnt.micros * microUnits, `${burnt.micros} micro-tokens are not ${burnt.units} units`)
  const due = dividedUp(lockUnits, microUnits) * microUnits
  must(burnt.units <= due, `${burnt.units} units were burnt, where the series has ${due}`)
  return burnt.units === due ? 0n : dividedUp(sheetUnits * (due - burnt.units), due)
}
