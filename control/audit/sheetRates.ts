import type { RateSet } from '../../contract/money/charge.ts'
import { effectiveRates, type Price, priceFromJson, TOKEN_KEYS } from '../catalog/pricing/price.ts'
import type { Sheet, SheetModel, SheetTool } from '../catalog/pricing/sheet.ts'
import { toolPriceFromJson } from '../catalog/pricing/toolPrice.ts'
import type { Client } from '../runtime/db/pool.ts'

const MILLION = 1_000_000
const MOST_TOKENS = Number.MAX_SAFE_INTEGER
/** Five products of these are below 2^63. */
const [NARROW_TOKENS, NARROW_RATE] = [2 ** 21, 2 ** 39]
const NO_RATES: RateSet = { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 }

/** The standard rate of a sheet, for prompts within two lengths: all prices per million, in units. */
interface Rated extends RateSet {
  readonly version: number
  readonly item: string
  readonly isTool: boolean
  /** Of a call, whatever it counts. */
  readonly call: number
  /** Of a million counted units, such as images. */
  readonly counted: number
  readonly fromTokens: number
  readonly untilTokens: number
  /** Those that the sheet has routes to; '' where it says nothing about them. */
  readonly providers: string
}

const TABLE = `
  CREATE TEMP TABLE sheet_rates (
    version integer, item text, is_tool boolean, providers text[], from_tokens bigint, until_tokens bigint, call numeric,
    counted numeric, input bigint, cached bigint, write_5m bigint, write_1h bigint, output bigint, is_narrow boolean
  ) ON COMMIT DROP`

const INSERT = `
  INSERT INTO sheet_rates
  SELECT "version", item, "isTool", CASE WHEN providers <> '' THEN string_to_array(providers, ' ') END, "fromTokens",
    "untilTokens", "call", counted, "input", "cachedInput", "cacheWrite5m", "cacheWrite1h", "output",
    "call" = 0 AND counted = 0 AND greatest("input", "cachedInput", "cacheWrite5m", "cacheWrite1h", "output") < ${NARROW_RATE}
  FROM json_to_recordset($1) AS rated ("version" integer, item text, "isTool" boolean, providers text, "fromTokens" bigint,
    "untilTokens" bigint, "call" numeric, counted numeric, "input" bigint, "cachedInput" bigint, "cacheWrite5m" bigint,
    "cacheWrite1h" bigint, "output" bigint)`

/** Columns of the tokens of a prompt. */
const PROMPT = ['input_tokens', 'cached_input_tokens', 'cache_write_5m_tokens', 'cache_write_1h_tokens']

/**
 * SQL of whether the tokens of a receipt are so few that their sums, and those at rates below NARROW_RATE, stay far below what a
 * bigint holds. Numeric arithmetic takes several times as long.
 */
const isNarrow = (r: string): string =>
  `(${[...PROMPT, 'output_tokens'].map((column) => `${r}.${column}`).join(' | ')}) BETWEEN 0 AND ${NARROW_TOKENS - 1}`

/**
 * SQL of the row of `sheet_rates` by which a receipt was charged.
 * @param r names rows of receipts
 */
export const ratedBy = (r: string): string => {
  const tokens = PROMPT.map((column) => `${r}.${column}`)
  return `
  sheet_rates s ON s.version = ${r}.sheet_version AND s.item = ${r}.model AND s.is_tool = (${r}.endpoint = 'tools')
    AND CASE WHEN ${isNarrow(r)} THEN ${tokens.join(' + ')} BETWEEN s.from_tokens AND s.until_tokens
      ELSE ${tokens.join('::numeric + ')} BETWEEN s.from_tokens AND s.until_tokens END`
}

/** SQL of the most that a receipt `r` may be charged by its row `s` of `sheet_rates`: one sum, rounded up once. */
export const DUE = `s.call + ceil((r.quantity * s.counted + r.input_tokens::numeric * s.input + r.cached_input_tokens::numeric * s.cached
  + r.cache_write_5m_tokens::numeric * s.write_5m + r.cache_write_1h_tokens::numeric * s.write_1h
  + r.output_tokens::numeric * s.output) / ${MILLION})`

/** SQL of whether a receipt `r` was charged more than DUE. */
export const EXCEEDS_DUE = `CASE WHEN s.is_narrow AND ${isNarrow('r')}
  THEN r.charge_units > (r.input_tokens * s.input + r.cached_input_tokens * s.cached + r.cache_write_5m_tokens * s.write_5m
    + r.cache_write_1h_tokens * s.write_1h + r.output_tokens * s.output + ${MILLION - 1}) / ${MILLION}
  ELSE r.charge_units > ${DUE} END`

/** Makes the table of the standard rates of all price sheets, which is dropped with the transaction. */
export async function createSheetRates(client: Client): Promise<void> {
  await client.query(TABLE)
  const found = await client.query<{ version: number; sheet: string }>('SELECT version, sheet FROM price_sheets')
  for (const { version, sheet } of found.rows) {
    const { models = [], tools = [] } = JSON.parse(sheet) as Partial<Sheet>
    const rated = [...models.flatMap((model) => ofModel(version, model)), ...tools.map((tool) => ofTool(version, tool))]
    await client.query(INSERT, [JSON.stringify(rated)])
  }
  await client.query('ANALYZE sheet_rates')
}

function ofTool(version: number, { id, price }: SheetTool): Rated {
  const { callUnits, resultUnits } = toolPriceFromJson(price)
  const prompts = { fromTokens: 0, untilTokens: MOST_TOKENS }
  return {
    version,
    item: id,
    isTool: true,
    providers: '',
    ...prompts,
    ...NO_RATES,
    call: callUnits,
    counted: resultUnits * MILLION,
  }
}

function ofModel(version: number, { id, price: json, routes }: SheetModel): Rated[] {
  const price = priceFromJson(json)
  const providers = (routes ?? []).map(({ provider }) => provider).join(' ')
  const of = (fromTokens: number, untilTokens: number): Rated => {
    const rates = effectiveRates(price, '', untilTokens) ?? NO_RATES
    return {
      version,
      item: id,
      isTool: false,
      providers,
      fromTokens,
      untilTokens,
      call: 0,
      counted: countedOf(price),
      ...rates,
    }
  }
  const threshold = price.longContext?.threshold
  return threshold === undefined ? [of(0, MOST_TOKENS)] : [of(0, threshold), of(threshold + 1, MOST_TOKENS)]
}

/** The price of a million of what a model counts that is not priced by the token. */
function countedOf({ amounts, sizes }: Price): number {
  if (TOKEN_KEYS.some((key) => amounts.has(key))) return 0
  const perMillion = amounts.get('character')
  if (perMillion !== undefined) return perMillion
  const each = amounts.get('image') ?? amounts.get('second') ?? amounts.get('search') ?? 0
  return Math.max(each, ...(sizes?.values() ?? [])) * MILLION
}
