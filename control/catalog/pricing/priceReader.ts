import type { Modality } from '../../../contract/catalog/catalog.ts'
import { completeBatchRates, type TokenPrices } from './batchRates.ts'
import { BATCH_KEYS, type Price, TOKEN_KEYS } from './price.ts'
import { tokensOf, usdOf } from './values.ts'
import type { Field, YamlReader } from './yamlReader.ts'

interface PriceKeys {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

const KEYS_OF: Readonly<Record<Modality, PriceKeys>> = {
  chat: { required: ['input', 'output'], optional: [...TOKEN_KEYS.slice(2), ...BATCH_KEYS] },
  embedding: { required: ['input'], optional: ['batch_input'] },
  image: { required: ['image'], optional: [] },
  speech: { required: ['character'], optional: [] },
  transcription: { required: ['second'], optional: [] },
  rerank: { required: ['search'], optional: [] },
  video: { required: ['second'], optional: [] },
}

/**
 * Reads the `price` (or `price_private`) of a model.
 * @param isPrivate a private price has no batch rates, because the private tier runs no batches
 */
export function readPrice(reader: YamlReader, field: Field, modality: Modality, isPrivate: boolean): Price {
  const keys = KEYS_OF[modality]
  const optional = isPrivate ? keys.optional.filter((key) => !key.startsWith('batch_')) : keys.optional
  const amountKeys = [...keys.required, ...optional]
  const extras = modality === 'chat' ? ['long_context'] : modality === 'image' ? ['sizes'] : []
  const map = reader.map(field, [...amountKeys, ...extras])
  for (const key of keys.required) reader.required(map, field, key)

  const base = { field, fields: map, amounts: readAmounts(reader, map, amountKeys) }
  requireBatchPair(reader, field, base.amounts, modality)
  const longField = modality === 'chat' ? map.get('long_context') : undefined
  const long = longField && readLongContext(reader, longField, amountKeys)
  completeBatchRates(reader, base, long)
  const price: { -readonly [K in keyof Price]: Price[K] } = { amounts: base.amounts }
  if (long) price.longContext = { threshold: tokensOf(reader, long.fields.get('threshold')), amounts: long.amounts }
  const sizes = map.get('sizes')
  if (sizes && modality === 'image') price.sizes = readSizes(reader, sizes)
  return price
}

function readAmounts(
  reader: YamlReader,
  map: ReadonlyMap<string, Field>,
  keys: readonly string[],
): Map<string, number> {
  const amounts = new Map<string, number>()
  for (const key of keys) {
    const field = map.get(key)
    if (field) amounts.set(key, usdOf(reader, field))
  }
  return amounts
}

/** Rates of one kind come as a pair at least: a missing output price would give the output away. */
function requireBatchPair(reader: YamlReader, field: Field, amounts: ReadonlyMap<string, number>, modality: Modality) {
  const batchKeys = [...amounts.keys()].filter((key) => key.startsWith('batch_'))
  if (batchKeys.length === 0) return
  if (!amounts.has('batch_input')) reader.problem(field, 'has batch prices but no batch_input')
  if (modality === 'chat' && !amounts.has('batch_output')) reader.problem(field, 'has batch prices but no batch_output')
}

function readLongContext(reader: YamlReader, field: Field, keys: readonly string[]): TokenPrices {
  const fields = reader.map(field, ['threshold', ...keys])
  for (const key of ['threshold', 'input', 'output']) reader.required(fields, field, key)
  const amounts = readAmounts(reader, fields, keys)
  requireBatchPair(reader, field, amounts, 'chat')
  return { field, fields, amounts }
}

function readSizes(reader: YamlReader, field: Field): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  for (const [size, entry] of reader.entries(field)) {
    if (!/^[1-9][0-9]{1,4}x[1-9][0-9]{1,4}$/.test(size)) reader.problem(entry, 'must be named WxH, such as 1024x1024')
    sizes.set(size, usdOf(reader, entry))
  }
  return sizes
}
