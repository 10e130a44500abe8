import { modelRates } from '../../../contract/catalog/catalog.ts'
import { chargeUnits, type ModelRates, NO_USAGE, type TokenUsage } from '../../../contract/money/charge.ts'
import { lockCharge, wholeMicros } from '../../../contract/money/lockCharge.ts'
import { quantityUnits } from '../../../contract/money/unitRates.ts'
import { toolUnits } from '../../../contract/tools/rates.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { RATE, STATUS, TIER, USAGE_SOURCE } from '../../../contract/wire/settlementNames.ts'
import type { Catalog, Model } from '../../../proxy/catalog/catalog.ts'
import type { Bill } from '../../../proxy/endpoints/run/bill.ts'
import { memberOf, present } from '../present.ts'
import type { Random } from './randomCatalogs.ts'

/** How a request comes to its charge and its end. */
export const KINDS = [
  'chat',
  'long',
  'batch',
  'private',
  'lock',
  'embedding',
  'image',
  'sizes',
  'speech',
  'transcription',
  'rerank',
  'video',
  'search',
  'scrape',
  'tool failed',
  'partial',
  'clamped',
  'lost',
  'void',
  'cut',
  'orphaned',
] as const
export type Kind = (typeof KINDS)[number]

/** A request that has ended as a proxy or control says it of it. */
export interface RandomRequest {
  readonly kind: Kind
  /** Units of credits and coin, or -1 for one that is not charged. */
  readonly charge: number
  readonly settlement: Partial<sluice.ISettlement>
}

/** What is asked for, and what it costs by the catalog as the proxies have it. */
interface Asked {
  readonly model: string
  readonly endpoint: string
  readonly bill: Bill
  readonly unit?: string
  readonly rate?: keyof typeof RATE
  readonly tier?: keyof typeof TIER
}

const upTo = (random: Random, most: number): number => Math.floor(random() * (most + 1))
const oneOf = <Item>(random: Random, items: readonly Item[]): Item =>
  present(items[Math.floor(random() * items.length)])

function randomUsage(random: Random): TokenUsage {
  const most = random() < 0.01 ? 100_000_000 : 30_000
  const some = () => (random() < 0.5 ? 0 : upTo(random, most))
  const output = upTo(random, most)
  return {
    input: upTo(random, most),
    cachedInput: some(),
    cacheWrite5m: some(),
    cacheWrite1h: some(),
    output,
    reasoning: upTo(random, output),
  }
}

const modelOf = ({ models }: Catalog, id: string): Model => present(models.get(id))

function byTokens(random: Random, rates: ModelRates, usage = randomUsage(random)): Bill {
  const source = random() < 0.2 ? 'estimated' : 'reported'
  return { units: chargeUnits(rates, usage), usage, quantity: 0, source }
}

function byCount(random: Random, model: Model, most: number, size = ''): Bill {
  const rates = present(model.unitRates ?? undefined)
  const quantity = upTo(random, most)
  const bill: Bill = { units: quantityUnits(rates, quantity, size), usage: NO_USAGE, quantity, source: 'reported' }
  return rates.sizes.has(size) ? { ...bill, size } : bill
}

function counted(random: Random, catalog: Catalog, [id, endpoint, most]: [string, string, number], size = ''): Asked {
  const model = modelOf(catalog, `test/${id}`)
  return { model: model.id, endpoint, bill: byCount(random, model, most, size), unit: model.unit }
}

function byTool(random: Random, catalog: Catalog, id: string, failed = false): Asked {
  const tool = present(catalog.tools.get(id))
  const results = upTo(random, 10)
  const units = toolUnits(failed ? tool.cost : tool.price, results)
  const quantity = tool.unit === 'result' ? results : 1
  return {
    model: id,
    endpoint: 'tools',
    bill: { units, usage: NO_USAGE, quantity, source: 'reported' },
    unit: tool.unit,
  }
}

const CHAT_ENDPOINTS = ['chat', 'messages', 'responses', 'completions']
const SIZES = ['256x256', '512x512', '1024x1536', '']

function ask(random: Random, catalog: Catalog, kind: Kind): Asked {
  const rated = (id: string, rates: (model: Model) => ModelRates, endpoint = oneOf(random, CHAT_ENDPOINTS)): Asked => {
    const model = modelOf(catalog, id)
    return { model: id, endpoint, bill: byTokens(random, rates(model)) }
  }
  const makers: Partial<Record<Kind, () => Asked>> = {
    long: () => rated('test/long', ({ rates }) => rates),
    batch: () => ({
      ...rated('test/batch', ({ ratesBatch }) => modelRates(present(ratesBatch ?? undefined)), 'chat'),
      rate: 'batch',
    }),
    private: () => ({
      ...rated('test/private', ({ ratesPrivate }) => present(ratesPrivate ?? undefined), 'chat'),
      tier: 'private',
    }),
    embedding: () => {
      const model = modelOf(catalog, 'test/embedding')
      const bill = byTokens(random, model.rates, { ...NO_USAGE, input: upTo(random, 50_000) })
      return { model: model.id, endpoint: 'embeddings', bill }
    },
    image: () => counted(random, catalog, ['image', 'images', 10]),
    sizes: () => counted(random, catalog, ['sizes', 'image_edits', 10], oneOf(random, SIZES)),
    speech: () => counted(random, catalog, ['speech', 'speech', 4_096]),
    transcription: () => counted(random, catalog, ['transcription', 'transcriptions', 7_200]),
    rerank: () => counted(random, catalog, ['rerank', 'rerank', 10]),
    video: () => counted(random, catalog, ['video', 'videos', 12]),
    search: () => byTool(random, catalog, 'web.search'),
    scrape: () => byTool(random, catalog, 'web.scrape'),
    'tool failed': () => byTool(random, catalog, 'web.search', true),
  }
  return (makers[kind] ?? (() => rated('test/chat', ({ rates }) => rates)))()
}

/** How a kind ends, where it is not served to the end. */
const ENDS: Partial<Record<Kind, readonly [status: keyof typeof STATUS, errorCode: string]>> = {
  'tool failed': ['partial', 'tool_upstream_error'],
  partial: ['partial', 'stream_interrupted'],
  void: ['failed', 'upstream_unavailable'],
  cut: ['cut', 'stream_cut'],
  orphaned: ['orphaned', ''],
}
const VOIDED: readonly Kind[] = ['void', 'cut', 'orphaned']

/** What a request burns of the first series of its model, of which a random part of what it costs is held. */
function randomBurn(random: Random, catalog: Catalog, model: string, bill: Bill) {
  const { id, rates, microUnits } = present(modelOf(catalog, model).lockSeries[0])
  const due = wholeMicros(chargeUnits(rates, bill.usage), microUnits)
  const full = (units: number) => units - (units % microUnits)
  const held = random() < 0.3 ? due + microUnits : full(upTo(random, due))
  const { lockUnits, sheetUnits } = lockCharge(bill.units, due, held)
  const told = { lockSeries: id, lockUnits, lockMicros: lockUnits / microUnits }
  return { sheetUnits, heldUnits: held, burnt: lockUnits > 0 ? told : {} }
}

/** A request that burns tokens of a lock before it is charged at the sheet. */
function randomLocked(random: Random, catalog: Catalog): RandomRequest {
  const { model, endpoint, bill } = ask(random, catalog, 'lock')
  const { sheetUnits, heldUnits, burnt } = randomBurn(random, catalog, model, bill)
  const restUnits = random() < 0.1 ? upTo(random, sheetUnits) : sheetUnits + upTo(random, sheetUnits)
  const charge = Math.min(sheetUnits, restUnits)
  const settlement: Partial<sluice.ISettlement> = {
    model,
    endpoint,
    sheetVersion: catalog.sheet.version,
    status: STATUS.ok,
    streamed: random() < 0.5,
    holdUnits: heldUnits + restUnits,
    chargeUnits: charge,
    usage: tokens(bill.usage),
    usageSource: memberOf<number>(USAGE_SOURCE, bill.source),
    clamped: sheetUnits > restUnits,
    durationMs: upTo(random, 100_000),
    rate: RATE.standard,
    tier: TIER.standard,
    ...burnt,
  }
  return { kind: 'lock', charge, settlement }
}

/** A random request of a kind, with the charge that the gateway makes for it at the prices of the catalog. */
export function randomRequest(random: Random, catalog: Catalog, kind: Kind): RandomRequest {
  if (kind === 'lock') return randomLocked(random, catalog)
  const { model, endpoint, bill, unit = '', rate = 'standard', tier = 'standard' } = ask(random, catalog, kind)
  const [status, errorCode] = ENDS[kind] ?? ['ok', random() < 0.1 ? 'client_gone' : '']
  const isVoided = VOIDED.includes(kind)
  const holdUnits = kind === 'clamped' ? upTo(random, bill.units) : bill.units + upTo(random, bill.units)
  const due = Math.min(bill.units, holdUnits)
  const charge = isVoided ? -1 : kind === 'lost' ? upTo(random, due) : due
  const {
    usage,
    quantity,
    size = '',
    source,
  } = isVoided ? { usage: NO_USAGE, quantity: 0, source: 'none' as const } : bill
  const settlement: Partial<sluice.ISettlement> = {
    model: isVoided ? `${model} "\u00e4\u2603\\` : model,
    endpoint,
    sheetVersion: catalog.sheet.version,
    status: memberOf<number>(STATUS, status),
    errorCode,
    streamed: random() < 0.5,
    holdUnits,
    chargeUnits: Math.max(0, charge),
    usage: { ...tokens(usage), quantity, unit: quantity > 0 ? unit : '' },
    usageSource: memberOf<number>(USAGE_SOURCE, source),
    clamped: !isVoided && bill.units > holdUnits,
    durationMs: upTo(random, 100_000),
    rate: RATE[rate],
    tier: TIER[tier],
    size,
  }
  return { kind, charge, settlement }
}

function tokens(usage: TokenUsage): sluice.IUsage {
  const { input, cachedInput, cacheWrite5m, cacheWrite1h, output, reasoning } = usage
  return { input, cachedInput, cacheWrite_5m: cacheWrite5m, cacheWrite_1h: cacheWrite1h, output, reasoning }
}
