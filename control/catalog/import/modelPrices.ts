import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import { exactText, parseExact } from '../priceLists/exactDecimal.ts'
import type { ModelFacts } from './draft.ts'
import { countIn, type Fields, fieldsIn, textIn } from './reads.ts'

/** Prices of one token make prices of a million. */
const PER_MILLION = 6
/** The catalog takes so many digits after the point. */
const PLACES_MAX = 9

const MODALITIES: Readonly<Record<string, ModelFacts['modality']>> = {
  chat: 'chat',
  completion: 'chat',
  responses: 'chat',
  embedding: 'embedding',
  image_generation: 'image',
  audio_speech: 'speech',
  audio_transcription: 'transcription',
  rerank: 'rerank',
}

/** The member of a price of the catalog, that of the other file, and the power of ten between them, by modality. */
const COSTS: Readonly<Record<ModelFacts['modality'], ReadonlyArray<readonly [string, string, number]>>> = {
  chat: [
    ['input', 'input_cost_per_token', PER_MILLION],
    ['output', 'output_cost_per_token', PER_MILLION],
    ['cached_input', 'cache_read_input_token_cost', PER_MILLION],
    ['cache_write_5m', 'cache_creation_input_token_cost', PER_MILLION],
    ['cache_write_1h', 'cache_creation_input_token_cost_above_1hr', PER_MILLION],
    ['batch_input', 'input_cost_per_token_batches', PER_MILLION],
    ['batch_output', 'output_cost_per_token_batches', PER_MILLION],
  ],
  embedding: [['input', 'input_cost_per_token', PER_MILLION]],
  image: [['image', 'output_cost_per_image', 0]],
  speech: [['character', 'input_cost_per_character', PER_MILLION]],
  transcription: [['second', 'input_cost_per_second', 0]],
  rerank: [['search', 'input_cost_per_query', 0]],
}

/**
 * The facts of a model by entries of LiteLLM's form (`mode`, `max_input_tokens`, `input_cost_per_token` and alike), the first of
 * which goes before the others.
 * @see https://docs.litellm.ai/docs/proxy/custom_pricing
 */
export function factsIn(entries: readonly Fields[]): ModelFacts {
  const first = <Value>(read: (entry: Fields) => Value | undefined): Value | undefined => {
    for (const entry of entries) {
      const value = read(entry)
      if (value !== undefined) return value
    }
    return undefined
  }
  const modality = MODALITIES[first((entry) => textIn(entry, 'mode')) ?? 'chat'] ?? 'chat'
  const input = first((entry) => countIn(entry, 'max_input_tokens'))
  const output = first((entry) => countIn(entry, 'max_output_tokens') ?? countIn(entry, 'max_tokens'))
  const price: Record<string, string> = {}
  for (const [member, cost, shift] of COSTS[modality]) {
    const amount = first((entry) => amountOf(entry[cost], shift))
    if (amount !== undefined) price[member] = amount
  }
  const context = modality === 'chat' && input !== undefined && output !== undefined ? Math.max(input, output) : input
  return {
    modality,
    ...(context !== undefined && modality !== 'image' && { context }),
    ...(output !== undefined && modality === 'chat' && { maxOutput: output }),
    price: withoutHalves(price),
  }
}

/** The entries of a price file, such as LiteLLM's model_prices_and_context_window.json, by the names of models. */
export class ModelPrices {
  private readonly entries: Fields

  /** @param file the parsed file; anything but a map has no entries */
  constructor(file: unknown) {
    this.entries = isJsonObject(file) ? file : {}
  }

  /** The entry of the first of these names that has one. */
  find(names: readonly (string | undefined)[]): Fields {
    const name = names.find(
      (one) => one !== undefined && Object.hasOwn(this.entries, one) && isJsonObject(this.entries[one]),
    )
    return name === undefined ? {} : fieldsIn(this.entries, name)
  }
}

function amountOf(value: unknown, shift: number): string | undefined {
  const exact = parseExact(value, shift)
  if (exact === undefined) return undefined
  const text = exactText(exact)
  return (text.split('.')[1] ?? '').length <= PLACES_MAX ? text : undefined
}

/** A price by batch has both of its parts, or none. */
function withoutHalves(price: Record<string, string>): Record<string, string> {
  const { batch_input: input, batch_output: output, ...rest } = price
  return input === undefined || output === undefined ? rest : price
}
