import { coinDecimal } from '../../contract/money/coin.ts'
import { formatTokens, parseTokens } from '../../contract/money/lockTokens.ts'
import { formatUsd } from '../../contract/money/units.ts'
import { Debits } from '../admission/debits/debit.ts'
import { LOCK_OPERATOR } from '../book/ledger/accounts.ts'
import { bookPrice } from '../catalog/pricing/coinAmounts.ts'
import { type Price, priceFromJson, TOKEN_KEYS } from '../catalog/pricing/price.ts'
import { modelsOfRecord, seriesFault } from '../catalog/pricing/seriesPromise.ts'
import type { Sheet } from '../catalog/pricing/sheet.ts'
import { currentRecord, latestSheet } from '../catalog/pricing/sheetStore.ts'
import { issueSeries, type NewSeries } from '../products/locks/issueSeries.ts'
import { bookJson, seriesJson } from '../products/locks/lockJson.ts'
import { placeOrder } from '../products/locks/placeOrder.ts'
import { type LockSeries, listSeries, seriesById } from '../products/locks/series.ts'
import { LOT_MICROS, TICK_NANOS } from '../products/locks/tradeAmounts.ts'
import { OPERATOR } from '../runtime/activity/activity.ts'
import { lockUntilCommit } from '../runtime/db/locks.ts'
import type { Client } from '../runtime/db/pool.ts'
import { withUndo } from '../runtime/db/undoable.ts'
import { type Arguments, argument, type CommandGroup, type Flag, flag, isSet, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { facts, table } from './table.ts'
import { amountOf } from './values.ts'

/** A micro-token has to be a whole number of units. */
const PRICE_STEP_UNITS = 1_000_000
const PERCENT_FORM = /^(\d{1,2})(?:\.(\d{1,4}))?$/
const PERCENT_MAX_PPM = 100_000
const flagOf = (key: string): string => key.replaceAll('_', '-')

const PRICE_FLAGS: Record<string, Flag> = Object.fromEntries(
  TOKEN_KEYS.map((key) => [
    flagOf(key),
    { value: 'USD', help: `the price of ${key.replaceAll('_', ' ')} per million tokens (that of the catalog)` },
  ]),
)

/** The value of a flag that has to be there. */
function needed(args: Arguments, name: string, example: string): string {
  const value = flag(args, name)
  if (value === undefined) throw new UsageError(`--${name} is missing, such as --${name} ${example}`)
  return value
}

function steppedAmount(args: Arguments, name: string, example: string, step: number): number {
  const amount = amountOf(name, needed(args, name, example))
  if (amount > 0 && amount % step === 0) return amount
  throw new UsageError(`--${name} has to be a multiple of ${formatUsd(step)} above zero, such as ${example}`)
}

function supplyOf(args: Arguments): number {
  const micros = parseTokens(needed(args, 'supply', '1000'))
  if (micros !== undefined && micros > 0 && micros % LOT_MICROS === 0) return micros
  throw new UsageError(`--supply is whole tokens, a multiple of ${formatTokens(LOT_MICROS)} above zero, such as 1000`)
}

function monthOf(args: Arguments): string {
  const month = flag(args, 'month') ?? new Date().toISOString().slice(0, 7)
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) return month
  throw new UsageError(`--month is a year and a month such as 2027-01, not "${month}"`)
}

function feePpmOf(args: Arguments): number {
  const text = flag(args, 'taker-fee') ?? '0'
  const [, whole = '', fraction = ''] = PERCENT_FORM.exec(text) ?? []
  const ppm = Number(whole) * 10_000 + Number(fraction.padEnd(4, '0'))
  if (whole !== '' && ppm <= PERCENT_MAX_PPM) return ppm
  throw new UsageError(`--taker-fee is a percentage from 0 to 10 with at most four digits, not "${text}"`)
}

/** The price of a model by the catalog in force, which stays in force until the transaction ends. */
async function priceInForce(client: Client, model: string, provider: string): Promise<Price> {
  await lockUntilCommit(client, 'publication')
  const [record, sheet] = [await currentRecord(client), await latestSheet(client)]
  if (record === undefined || sheet === undefined) {
    throw new CommandError('no catalog is published yet: start control (make run)')
  }
  const fault = seriesFault(modelsOfRecord(record), { model, provider })
  if (fault !== undefined) throw new CommandError(`${fault}, by the catalog in force; "catalog publish" changes it`)
  const listed = (JSON.parse(sheet.text) as Sheet).models.find(({ id }) => id === model)
  return priceFromJson(listed?.price ?? {})
}

/** The prices of the classes: from the flags, else from the catalog. */
function pricesOf(args: Arguments, listed: Price): NewSeries['price'] {
  const entries = TOKEN_KEYS.flatMap((key) => {
    const stated = flag(args, flagOf(key))
    const units = stated === undefined ? listed.amounts.get(key) : amountOf(flagOf(key), stated)
    return units === undefined ? [] : [[key, formatUsd(units)] as const]
  })
  return Object.fromEntries(entries)
}

async function issue(args: Arguments, context: CliContext): Promise<undefined> {
  const provider = needed(args, 'provider', 'acme')
  const lockedPriceUnits = steppedAmount(args, 'price', '0.15', PRICE_STEP_UNITS)
  const priceNanos = steppedAmount(args, 'offer', '0.14', TICK_NANOS)
  const [supplyMicros, month, takerFeePpm] = [supplyOf(args), monthOf(args), feePpmOf(args)]
  const model = argument(args, 'MODEL')
  const pool = await context.pool()
  const debits = new Debits(pool, await context.redis(), context.limits)
  const onFault = (error: unknown) => context.warn(`undoing a change failed; control sees to it (${error})`)
  const series = await withUndo(pool, onFault, async (transaction) => {
    const price = pricesOf(args, await priceInForce(transaction.client, model, provider))
    const made = { model, month, provider, lockedPriceUnits, price, supplyMicros, takerFeePpm }
    const issued = await issueSeries(transaction.client, made, context.limits)
    const coinUsdUnits = await bookPrice(transaction.client)
    const wanted = { accountId: LOCK_OPERATOR, side: 'sell', priceNanos, micros: supplyMicros } as const
    await placeOrder(transaction, debits, OPERATOR, { series: issued, wanted, coinUsdUnits }, context.limits)
    return issued
  })
  context.print(seriesJson(series), `${textOf(series)}\noffered at:   ${coinDecimal(priceNanos)} coin per token`)
}

function textOf(series: LockSeries): string {
  const shown = seriesJson(series)
  return facts([
    ['lock', shown.id],
    ['model', shown.model],
    ['provider', shown.provider],
    ['month', shown.month],
    ['ends', shown.ends_at],
    ['state', shown.state],
    ...(shown.unavailable === undefined ? [] : [['because', shown.unavailable] as const]),
    ['locked price', `${shown.locked_price.usd} USD per token`],
    ...Object.entries(shown.price).map(([key, usd]) => [key, `${usd} USD`] as const),
    ['supply', shown.supply],
    ['taker fee', `${series.takerFeePpm / 10_000} %`],
  ])
}

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const which = isSet(args, 'all') ? 'all' : 'living'
  const data = (await listSeries(await context.pool(), which, context.limits.lockSeriesMax)).map(seriesJson)
  const rows = data.map((one) => [
    one.id,
    one.model,
    one.month,
    one.state,
    one.provider,
    one.locked_price.usd,
    one.supply,
  ])
  const headings = ['LOCK', 'MODEL', 'MONTH', 'STATE', 'PROVIDER', 'USD', 'SUPPLY']
  context.print({ data }, rows.length === 0 ? 'no lock' : table(headings, rows))
}

async function show(args: Arguments, context: CliContext): Promise<undefined> {
  const [pool, id] = [await context.pool(), argument(args, 'ID')]
  const series = await seriesById(pool, id)
  if (series === undefined) throw new CommandError(`there is no lock ${id}`)
  const book = await bookJson(pool, id, context.limits)
  const rows = [
    ...book.asks.map(({ price, tokens }) => ['ask', price, tokens]).reverse(),
    ...book.bids.map(({ price, tokens }) => ['bid', price, tokens]),
  ]
  const text = rows.length === 0 ? 'no open order' : table(['SIDE', 'COIN', 'TOKENS'], rows)
  context.print({ ...seriesJson(series), book }, `${textOf(series)}\n\n${text}`)
}

export const LOCK: CommandGroup = {
  name: 'lock',
  summary: 'series of compute locks: a price fixed for a block of one model for a month',
  commands: [
    {
      synopsis: 'issue <MODEL>',
      summary: 'Issues a series and offers its supply in its book.',
      flags: {
        provider: { value: 'ID', help: 'the provider of the catalog that serves requests that burn tokens' },
        price: { value: 'USD', help: 'the locked price of one whole token, such as 0.15; a multiple of 0.001' },
        supply: { value: 'TOKENS', help: 'how many whole tokens, such as 1000' },
        offer: { value: 'COIN', help: 'the price per whole token that the supply is offered at, such as 0.14' },
        month: { value: 'MONTH', help: 'such as 2027-01 (this month)' },
        'taker-fee': { value: 'PERCENT', help: "of takers' trades, from 0 to 10 (0)" },
        ...PRICE_FLAGS,
      },
      run: issue,
    },
    {
      synopsis: 'list',
      summary: 'Lists the series that are not closed.',
      flags: { all: { help: 'also those that are closed' } },
      run: list,
    },
    { synopsis: 'show <ID>', summary: 'Shows a series and its book.', run: show },
  ],
}
