import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import { azureResource, Draft, numbered, type Reached, strippedUrl } from './draft.ts'
import { factsIn, type ModelPrices } from './modelPrices.ts'
import { countIn, type Fields, fieldsIn, listIn, textIn } from './reads.ts'

/** Presets by the number of a channel's type; the table of channel types of one-api and new-api has the numbers. */
const PRESET_OF: ReadonlyMap<number, string> = new Map([
  [1, 'openai'],
  [3, 'azure'],
  [4, 'ollama'],
  [14, 'anthropic'],
  [20, 'openrouter'],
  [24, 'gemini'],
  [25, 'moonshot'],
  [27, 'perplexity'],
  [34, 'cohere'],
  [42, 'mistral'],
  [43, 'deepseek'],
  [48, 'xai'],
])
/** Channels whose addresses are in the OpenAI format, and lie at /v1 of their base_url. */
const OPENAI_TYPES: ReadonlySet<number> = new Set([1, 8])
const ENABLED = 1

/**
 * A catalog from channels of new-api or one-api, as `GET /api/channel/` or an export has them.
 * @param file the parsed JSON: a list of channels, or an answer with one in `data` or `data.items`
 */
export function fromNewApi(file: unknown, prices: ModelPrices): Draft {
  const draft = new Draft()
  const channels = channelsIn(file)
  const priorities = [...new Set(channels.map(priorityOf))].sort((a, b) => b - a)
  for (const [i, channel] of channels.entries()) {
    const place = `channel ${textIn(channel, 'name') ?? i}`
    // There the highest number is asked first, here the lowest.
    addChannel(draft, place, channel, { prices, priority: priorities.indexOf(priorityOf(channel)) + 1 })
  }
  if (channels.length === 0) draft.note('the file', 'it has no list of channels')
  return draft
}

function channelsIn(file: unknown): readonly Fields[] {
  const data = isJsonObject(file) ? file['data'] : file
  const list = Array.isArray(data) ? data : listIn(data, 'items')
  return list.filter(isJsonObject)
}

const priorityOf = (channel: Fields): number => Number(channel['priority'] ?? 0) || 0

interface ChannelContext {
  readonly prices: ModelPrices
  readonly priority: number
}

function addChannel(draft: Draft, place: string, channel: Fields, { prices, priority }: ChannelContext): void {
  if (channel['status'] !== undefined && channel['status'] !== ENABLED) {
    draft.note(place, 'it is switched off, and left out')
    return
  }
  const reached = reachedBy(draft, place, channel)
  if (reached === undefined) return
  const provider = draft.provider(reached)
  const mapping = mappingOf(draft, place, channel)
  const keys = (textIn(channel, 'key') ?? '')
    .split('\n')
    .map((key) => key.trim())
    .filter((key) => key !== '')
  if (keys.length === 0) draft.note(place, `the file has no key; set ${provider.id}'s variable`)
  for (const name of (textIn(channel, 'models') ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')) {
    const upstream = textIn(mapping, name) ?? name
    const model = draft.model(place, name, factsIn([prices.find([upstream, name])]))
    for (const secret of keys) draft.key(provider, { secret }, upstream)
    const weight = countIn(channel, 'weight')
    draft.route(model, { provider: provider.id, model: upstream, priority, ...numbered('weight', weight) })
  }
  if (textIn(channel, 'group') !== undefined && textIn(channel, 'group') !== 'default')
    draft.note(`${place}: group`, 'keys are limited to models by `key update --models`')
}

function reachedBy(draft: Draft, place: string, channel: Fields): Reached | undefined {
  const type = countIn(channel, 'type') ?? 0
  const preset = PRESET_OF.get(type)
  const given = textIn(channel, 'base_url')
  const baseUrl = given === undefined ? undefined : strippedUrl(given)
  if (baseUrl !== undefined && OPENAI_TYPES.has(type)) {
    return { baseUrl: withVersion(baseUrl), name: textIn(channel, 'name') ?? 'provider' }
  }
  if (preset === undefined || (preset === 'azure' && baseUrl === undefined)) {
    draft.note(place, `channels of type ${type} have no preset here; give the provider an address in the OpenAI format`)
    return undefined
  }
  if (baseUrl === undefined) return { preset, name: preset }
  return preset === 'azure' ? azureResource(baseUrl) : { preset, baseUrl: withVersion(baseUrl), name: preset }
}

/** The address of a channel with the version of the API, which most of them leave out. */
function withVersion(baseUrl: string): string {
  return /\/v\d+$/.test(baseUrl) ? baseUrl : `${baseUrl}/v1`
}

/** The upstream names of models, which the channel has as the text of a JSON object. */
function mappingOf(draft: Draft, place: string, channel: Fields): Fields {
  const text = textIn(channel, 'model_mapping')
  if (text === undefined) return fieldsIn(channel, 'model_mapping')
  try {
    const mapping: unknown = JSON.parse(text)
    if (isJsonObject(mapping)) return mapping
  } catch {
    // Told below.
  }
  draft.note(`${place}: model_mapping`, 'it is no JSON object; models keep their names')
  return {}
}
