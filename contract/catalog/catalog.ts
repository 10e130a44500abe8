import { type ModelRates, type RateSet, resolveBatchRates, resolveRateSet } from '../money/charge.ts'
import type { sluice } from '../wire/generated/messages.js'

export const MODALITIES = ['chat', 'embedding', 'image', 'speech', 'transcription', 'rerank', 'video'] as const
export type Modality = (typeof MODALITIES)[number]

export const ENDPOINTS = [
  'chat',
  'completions',
  'messages',
  'responses',
  'embeddings',
  'images',
  'image_edits',
  'speech',
  'transcriptions',
  'rerank',
  'videos',
  'tools',
] as const
export type Endpoint = (typeof ENDPOINTS)[number]

export const CHAT_ENDPOINTS = ['chat', 'completions', 'messages', 'responses'] as const satisfies readonly Endpoint[]
export type ChatEndpoint = (typeof CHAT_ENDPOINTS)[number]

/** The endpoints that a model of each modality can serve. */
export const ENDPOINTS_OF: Readonly<Record<Modality, readonly Endpoint[]>> = {
  chat: CHAT_ENDPOINTS,
  embedding: ['embeddings'],
  image: ['images', 'image_edits'],
  speech: ['speech'],
  transcription: ['transcriptions'],
  rerank: ['rerank'],
  video: ['videos'],
}

/**
 * The endpoints that a chat model serves. Messages and their token counts need no more of a provider than chat, so every
 * model with chat has them; a model for text completions alone does not. Attested hardware serves chat completions only.
 * @param named those of its entry in the catalog
 */
export function chatEndpoints(named: readonly Endpoint[], attested: boolean): readonly Endpoint[] {
  if (attested && named.includes('chat')) return ['chat']
  const converses = named.includes('chat') || named.includes('responses')
  if (attested || !converses || named.includes('messages')) return named
  return ENDPOINTS_OF.chat.filter((endpoint) => endpoint === 'messages' || named.includes(endpoint))
}

/** The units by which models are priced that are not priced by the token. */
export type Counted = 'image' | 'character' | 'second' | 'search'

/** The unit on receipts by modality; '' where tokens are counted. */
export const COUNTED_BY: Readonly<Record<Modality, Counted | ''>> = {
  chat: '',
  embedding: '',
  image: 'image',
  speech: 'character',
  transcription: 'second',
  rerank: 'search',
  video: 'second',
}

/** How a chat model is made to think: not at all, with a budget of tokens, or with an effort. */
export const THINKING = ['none', 'budget', 'effort'] as const
export type Thinking = (typeof THINKING)[number]

export const DATA_POLICIES = ['none', 'retained'] as const
export type DataPolicy = (typeof DATA_POLICIES)[number]

/** The rates of a record with every class filled in; a set of rates without long-context ones repeats the base. */
export function modelRates(record: sluice.Rates.$Properties): ModelRates {
  const base = resolveRateSet(statedRates(record))
  const threshold = record.longThreshold ?? 0
  const long = threshold > 0 && record.long ? resolveRateSet(statedRates(record.long)) : base
  return { ...base, longThreshold: threshold, long }
}

/**
 * The batch rates of a record with every class filled in.
 * @param standard the rates of the same model without a batch
 */
export function batchRates(batch: sluice.Rates.$Properties, standard: ModelRates): sluice.Rates.$Properties {
  const base = batchSet(batch, standard)
  if (!batch.long || !batch.longThreshold) return base
  return { ...base, longThreshold: batch.longThreshold, long: batchSet(batch.long, standard.long) }
}

function batchSet(batch: sluice.Rates.$Properties, standard: RateSet): sluice.Rates.$Properties {
  const { input, output, cachedInput, cacheWrite5m, cacheWrite1h } = resolveBatchRates(statedRates(batch), standard)
  return { input, output, cachedInput, cacheWrite_5m: cacheWrite5m, cacheWrite_1h: cacheWrite1h }
}

function statedRates(record: sluice.Rates.$Properties) {
  return {
    input: record.input ?? 0,
    output: record.output ?? 0,
    cachedInput: record.cachedInput,
    cacheWrite5m: record.cacheWrite_5m,
    cacheWrite1h: record.cacheWrite_1h,
  }
}
