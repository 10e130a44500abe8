import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import { Draft, type GivenKey, numbered, type Reached, strippedUrl } from './draft.ts'
import { factsIn, type ModelPrices } from './modelPrices.ts'
import { type Fields, fieldsIn, listIn, textIn } from './reads.ts'

/** Presets by the name of a provider; https://portkey.ai/docs/integrations/llms lists the names. */
const PRESET_OF: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  'azure-openai': 'azure',
  google: 'gemini',
  groq: 'groq',
  'together-ai': 'together',
  'fireworks-ai': 'fireworks',
  deepseek: 'deepseek',
  moonshot: 'moonshot',
  'mistral-ai': 'mistral',
  'x-ai': 'xai',
  'perplexity-ai': 'perplexity',
  cerebras: 'cerebras',
  openrouter: 'openrouter',
  cohere: 'cohere',
  ollama: 'ollama',
}
const WEIGHT_SCALE = 100
const DEPTH_MAX = 8

interface Place {
  readonly path: string
  readonly depth: number
  readonly priority: number
  readonly weight: number | undefined
}

/**
 * A catalog with one model from a gateway config of Portkey, whose targets become the routes of the model.
 * @param model the id of the model, as clients name it
 * @see https://portkey.ai/docs/product/ai-gateway/configs
 */
export function fromPortkey(config: unknown, prices: ModelPrices, model: string): Draft {
  const draft = new Draft()
  const targets = new Targets(draft, prices, model)
  targets.add(isJsonObject(config) ? config : {}, { path: 'config', depth: 0, priority: 1, weight: undefined })
  if (draft.models.size === 0) draft.note('config', 'it has no target that can be carried over')
  return draft
}

class Targets {
  private readonly draft: Draft
  private readonly prices: ModelPrices
  private readonly model: string
  /** Targets of a fallback are asked one after the other. */
  private lastPriority = 0

  constructor(draft: Draft, prices: ModelPrices, model: string) {
    this.draft = draft
    this.prices = prices
    this.model = model
  }

  /** Adds a target, or the targets below it; a target takes from those above it what it does not say itself. */
  add(target: Fields, place: Place): void {
    const { path, depth } = place
    const targets = listIn(target, 'targets').filter(isJsonObject)
    if (targets.length === 0) {
      this.addRoute(target, place)
      return
    }
    if (depth === DEPTH_MAX) {
      this.draft.note(path, `targets are carried over to a depth of ${DEPTH_MAX}`)
      return
    }
    const mode = textIn(fieldsIn(target, 'strategy'), 'mode') ?? 'single'
    if (mode === 'conditional')
      this.draft.note(`${path}.strategy`, 'requests are not sent by conditions; all targets are routes')
    if (fieldsIn(target, 'strategy')['on_status_codes'] !== undefined)
      this.draft.note(
        `${path}.strategy.on_status_codes`,
        'a route takes over before the first output, after any fault of a provider',
      )
    const shares = mode === 'loadbalance'
    if (shares) this.lastPriority++
    const { strategy: _, targets: __, ...inherited } = target
    for (const [i, below] of targets.entries()) {
      const share =
        shares && typeof below['weight'] === 'number' ? Math.round(below['weight'] * WEIGHT_SCALE) : undefined
      const priority = shares ? this.lastPriority : place.priority
      this.add(
        { ...inherited, ...below },
        {
          path: `${path}.targets[${i}]`,
          depth: depth + 1,
          priority,
          weight: shares ? (share ?? WEIGHT_SCALE) : undefined,
        },
      )
    }
  }

  private addRoute(target: Fields, { path, priority, weight }: Place): void {
    if (weight === 0) {
      this.draft.note(path, 'its weight is 0, and it is left out')
      return
    }
    const reached = this.reachedBy(target, path)
    if (reached === undefined) return
    const upstream = textIn(fieldsIn(target, 'override_params'), 'model') ?? this.model
    const provider = this.draft.provider(reached)
    const model = this.draft.model(path, this.model, factsIn([this.prices.find([upstream, this.model])]))
    this.draft.key(provider, this.keyOf(target, path), upstream)
    const own = weight === undefined ? ++this.lastPriority : priority
    this.draft.route(model, { provider: provider.id, model: upstream, priority: own, ...numbered('weight', weight) })
    for (const name of ['cache', 'retry', 'input_guardrails', 'output_guardrails'])
      if (target[name] !== undefined) this.draft.note(`${path}.${name}`, 'there is no such setting here')
  }

  private reachedBy(target: Fields, path: string): Reached | undefined {
    const provider = textIn(target, 'provider')?.replace(/^@/, '')
    const host = textIn(target, 'custom_host')
    if (host !== undefined) return { baseUrl: strippedUrl(host), name: provider ?? 'provider' }
    const preset = PRESET_OF[provider ?? '']
    if (preset !== undefined && preset !== 'azure') return { preset, name: preset }
    this.draft.note(
      path,
      `the provider "${provider ?? textIn(target, 'virtual_key') ?? ''}" is not known here; add it by its preset or address`,
    )
    return undefined
  }

  private keyOf(target: Fields, path: string): GivenKey {
    const key = textIn(target, 'api_key')
    if (key !== undefined) return { secret: key }
    this.draft.note(path, 'its key is kept elsewhere; set the variable of the provider')
    return undefined
  }
}
