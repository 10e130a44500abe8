import { formatUsd } from '../../../contract/money/units.ts'
import { type Catalog, parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { mediaModel } from '../clients/mediaClient.ts'
import { scrapeTool, searchTool } from '../clients/toolClient.ts'
import { videoModel } from '../clients/videoClient.ts'
import { type TestModel, testCatalog } from '../testCatalog.ts'

/** Numbers from 0 to below 1. */
export type Random = () => number

/** An integer of units as USD, from 0 to `most`; small ones as often as large ones. */
const usd = (random: Random, most: number): string => formatUsd(Math.floor(most ** random() + random() * 10) - 1)

/** An amount that is a part of another one, in units. */
const part = (random: Random, units: number): string => formatUsd(Math.floor(units * random()))

const MILLION_TOKENS = 50_000_000_000
const BASE = ['cached_input', 'cache_write_5m', 'cache_write_1h']

function tokenPrice(random: Random): Record<string, string> {
  const price: Record<string, string> = { input: usd(random, MILLION_TOKENS), output: usd(random, MILLION_TOKENS) }
  for (const key of BASE) if (random() < 0.5) price[key] = usd(random, MILLION_TOKENS)
  return price
}

function longPrice(random: Random): Record<string, unknown> {
  return { ...tokenPrice(random), long_context: { threshold: Math.ceil(random() * 20_000), ...tokenPrice(random) } }
}

/** Batch rates are no higher than standard ones. */
function batchPrice(random: Random): Record<string, unknown> {
  const units = Math.ceil(random() * MILLION_TOKENS)
  const price = { ...tokenPrice(random), input: formatUsd(units), output: formatUsd(units * 4) }
  const batch = { batch_input: part(random, units), batch_output: part(random, units * 4) }
  if (random() < 0.5) return { ...price, ...batch }
  const long = { threshold: Math.ceil(random() * 20_000), input: formatUsd(units * 2), output: formatUsd(units * 8) }
  const longBatch = { batch_input: part(random, units * 2), batch_output: part(random, units * 8) }
  return { ...price, ...batch, long_context: { ...long, ...longBatch } }
}

/** A model of each kind of prices, and a tool of each. */
function models(random: Random): TestModel[] {
  const sizes = Object.fromEntries(['256x256', '512x512', '1024x1536'].map((size) => [size, usd(random, 1e9)]))
  return [
    { id: 'test/chat', price: tokenPrice(random) },
    { id: 'test/long', price: longPrice(random) },
    { id: 'test/batch', price: batchPrice(random) },
    { id: 'test/private', attested: true, price: tokenPrice(random), price_private: longPrice(random) },
    mediaModel('test/embedding', 'embedding', 'mock', { price: { input: usd(random, MILLION_TOKENS) } }),
    mediaModel('test/image', 'image', 'mock', { price: { image: usd(random, 1e9) } }),
    mediaModel('test/sizes', 'image', 'mock', { price: { image: usd(random, 1e9), sizes } }),
    mediaModel('test/speech', 'speech', 'mock', { price: { character: usd(random, MILLION_TOKENS) } }),
    mediaModel('test/transcription', 'transcription', 'mock', { price: { second: usd(random, 1e8) } }),
    mediaModel('test/rerank', 'rerank', 'mock', { price: { search: usd(random, 1e8) } }),
    videoModel('test/video', 'mock', { price: { second: usd(random, 1e9) } }),
  ]
}

/** What a tool costs, and a price for it that is no higher. @param units what its upstream charges */
function priced(random: Random, units: Readonly<Record<string, number | undefined>>) {
  const each = (amount: (units: number) => string) =>
    Object.fromEntries(Object.entries(units).map(([name, value = 0]) => [name, amount(value)]))
  return { cost: each(formatUsd), price: each((value) => part(random, value)) }
}

/** A catalog with random prices, models for every kind of charge, and tools. */
export function randomCatalog(random: Random): Catalog {
  const [base, result, call] = [1e8, 1e7, 1e8].map((most) => Math.ceil(random() * most))
  const tools = [
    searchTool('web.search', 'mock', priced(random, { base, result })),
    scrapeTool('web.scrape', 'mock', priced(random, { call })),
  ]
  const coinUsd = formatUsd(1 + Math.floor(random() * 20_000) * 1_000_000 + 1_000_000)
  const text = testCatalog('http://127.0.0.1:9/v1', { models: models(random), tools, coinUsd })
  return parseCatalog('random.yaml', text)
}
