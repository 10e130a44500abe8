import { Document, type Node } from 'yaml'
import type { Draft, DraftKey, DraftModel, DraftProvider } from './draft.ts'

const ENDPOINTS: Readonly<Record<DraftModel['facts']['modality'], readonly string[]>> = {
  chat: ['chat', 'messages', 'responses'],
  embedding: ['embeddings'],
  image: ['images'],
  speech: ['speech'],
  transcription: ['transcriptions'],
  rerank: ['rerank'],
}
/** The members of a price that a model of a modality has to have. */
const PRICED_BY: Readonly<Record<DraftModel['facts']['modality'], readonly string[]>> = {
  chat: ['input', 'output'],
  embedding: ['input'],
  image: ['image'],
  speech: ['character'],
  transcription: ['second'],
  rerank: ['search'],
}
const HEAD = ` A catalog that was made from the configuration of another gateway. Check the data_policy of each provider: retained is the
 careful one, which serves only clients that have opted in.`
const INCOMPLETE =
  ' These models lack a price, a context or an output limit. Fill them in and remove the number signs.\n'

/**
 * The text of a catalog file. Models that lack a fact which the catalog needs are comments, so that nothing is sold at a price
 * that nobody has set.
 */
export function draftText(draft: Draft): string {
  const models = [...draft.models.values()]
  const document = new Document({
    coin: onOneLine({ usd: '1' }),
    providers: [...draft.providers.values()].map(providerEntry),
    models: models.filter(isComplete).map(modelEntry),
  })
  document.commentBefore = HEAD
  const text = document.toString({ lineWidth: 0 })
  const rest = models.filter((model) => !isComplete(model))
  if (rest.length === 0) return text
  const lines = new Document(rest.map(modelEntry)).toString({ lineWidth: 0 }).trimEnd().split('\n')
  return `${text}#${INCOMPLETE}${lines.map((line) => `#  ${line}`).join('\n')}\n`
}

/** Whether a model has all that the catalog needs. */
export function isComplete({ facts }: DraftModel): boolean {
  const isSized = facts.modality !== 'chat' || (facts.context !== undefined && facts.maxOutput !== undefined)
  return isSized && PRICED_BY[facts.modality].every((member) => facts.price[member] !== undefined)
}

function providerEntry(provider: DraftProvider): object {
  const { id, preset, baseUrl, keys } = provider
  return {
    id,
    ...(preset !== undefined && { preset }),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
    ...(preset === undefined && { dialect: 'openai' }),
    ...keysEntry(keys),
    data_policy: 'retained',
  }
}

function keysEntry(keys: readonly DraftKey[]): object {
  const [only] = keys
  if (only === undefined) return {}
  if (keys.length === 1) return { api_key_env: only.env }
  const all = new Set(keys.flatMap(({ models }) => [...models]))
  return {
    keys: keys.map(({ env, models }, i) =>
      onOneLine({
        id: `key-${i + 1}`,
        env,
        ...(models.size < all.size && { models: [...models] }),
      }),
    ),
  }
}

function modelEntry({ id, facts, routes, fallbacks }: DraftModel): object {
  const { modality, context, maxOutput, price } = facts
  // The catalog refuses a model that it does not have.
  const others = [...fallbacks].flatMap(([model, on]) =>
    isComplete(model) ? [onOneLine({ model: model.id, on: [...on] })] : [],
  )
  const prioritized = routes.every(({ priority }) => priority !== undefined)
  return {
    id,
    owned_by: id.includes('/') ? id.slice(0, id.indexOf('/')) : (routes[0]?.provider ?? 'unknown'),
    modality,
    endpoints: onOneLine(ENDPOINTS[modality]),
    ...(context !== undefined && { context }),
    ...(maxOutput !== undefined && { max_output: maxOutput }),
    price: onOneLine(price),
    ...(others.length > 0 && { fallbacks: others }),
    routes: routes.map(({ provider, model, priority, weight }) =>
      onOneLine({ provider, model, ...(prioritized && { priority, ...(weight !== undefined && { weight }) }) }),
    ),
  }
}

function onOneLine(value: unknown): Node {
  return new Document().createNode(value, { flow: true })
}
