import { azureResource, Draft, type GivenKey, numbered, type Reached, strippedUrl } from './draft.ts'
import { addFallbacks } from './litellmFallbacks.ts'
import { factsIn, type ModelPrices } from './modelPrices.ts'
import { countIn, type Fields, fieldsIn, listIn, textIn } from './reads.ts'

/** Presets by the provider that a model's name begins with; https://docs.litellm.ai/docs/providers lists the names. */
const PRESET_OF: Readonly<Record<string, string>> = {
  openai: 'openai',
  text_completion_openai: 'openai',
  anthropic: 'anthropic',
  azure: 'azure',
  gemini: 'gemini',
  groq: 'groq',
  together_ai: 'together',
  fireworks_ai: 'fireworks',
  deepseek: 'deepseek',
  moonshot: 'moonshot',
  mistral: 'mistral',
  xai: 'xai',
  perplexity: 'perplexity',
  cerebras: 'cerebras',
  openrouter: 'openrouter',
  cohere: 'cohere',
  cohere_chat: 'cohere',
  hosted_vllm: 'vllm',
  vllm: 'vllm',
  ollama: 'ollama',
  ollama_chat: 'ollama',
  lm_studio: 'lmstudio',
}
/** Providers that are reached at any address in the OpenAI format. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(['openai', 'openai_like', 'custom_openai', 'litellm_proxy'])
/** Settings of a deployment that are carried over, or that say nothing here. */
const KNOWN: ReadonlySet<string> = new Set(
  'model api_key api_base base_url weight order input_cost_per_token output_cost_per_token drop_params max_retries'.split(
    ' ',
  ),
)
const QUOTAS: ReadonlySet<string> = new Set(['rpm', 'tpm', 'max_parallel_requests'])
const NOT_CARRIED: Readonly<Record<string, string>> = {
  content_policy_fallbacks: 'a refusal by a provider is told to the client',
  default_fallbacks: 'name them in the fallbacks of each model',
  routing_strategy: 'routes share conversations by priority and weight',
  cache: 'answers are not cached',
  success_callback: 'read receipts and metrics in their place',
  failure_callback: 'read receipts and metrics in their place',
  callbacks: 'read receipts and metrics in their place',
  guardrails: 'there are no guardrails',
  model_group_alias: 'name the model twice, with the same routes',
}

/**
 * A catalog from a configuration of LiteLLM's proxy.
 * @param config the parsed config.yaml
 * @param prices for models whose model_info has no price
 * @see https://docs.litellm.ai/docs/proxy/configs
 */
export function fromLitellm(config: unknown, prices: ModelPrices): Draft {
  const draft = new Draft()
  for (const [i, entry] of listIn(config, 'model_list').entries())
    addDeployment(draft, `model_list[${i}]`, entry, prices)
  for (const section of ['litellm_settings', 'router_settings']) {
    addFallbacks(draft, section, fieldsIn(config, section))
    for (const name of Object.keys(fieldsIn(config, section))) {
      const advice = NOT_CARRIED[name]
      if (advice !== undefined) draft.note(`${section}.${name}`, advice)
    }
  }
  if (draft.models.size === 0) draft.note('model_list', 'it has no model that can be carried over')
  return draft
}

function addDeployment(draft: Draft, place: string, entry: unknown, prices: ModelPrices): void {
  const name = textIn(entry, 'model_name')
  const params = fieldsIn(entry, 'litellm_params')
  const full = textIn(params, 'model')
  if (name === undefined || full === undefined) {
    draft.note(place, 'it has no model_name, or no litellm_params.model')
    return
  }
  const at = full.indexOf('/')
  const prefix = at < 0 ? undefined : full.slice(0, at)
  const upstream = prefix !== undefined && isProvider(prefix) ? full.slice(at + 1) : full
  const info = fieldsIn(entry, 'model_info')
  const listed = prices.find([full, upstream, textIn(info, 'base_model')])
  const reached = reachedBy(draft, place, params, { prefix, listed })
  if (reached === undefined) return
  if (name.includes('*') || upstream.includes('*')) {
    draft.note(place, `"${name}" stands for many models; the catalog names each model with its price`)
    return
  }
  const provider = draft.provider(reached)
  const own = { ...info, ...definedCosts(params) }
  const model = draft.model(place, name, factsIn([own, listed]))
  draft.key(provider, keyOf(params), upstream)
  draft.route(model, {
    provider: provider.id,
    model: upstream,
    ...numbered('priority', countIn(params, 'order')),
    ...numbered('weight', countIn(params, 'weight')),
  })
  for (const setting of Object.keys(params)) {
    if (QUOTAS.has(setting))
      draft.note(
        `${place}.litellm_params.${setting}`,
        'write it as requests_per_minute, tokens_per_minute or parallel of the key',
      )
    else if (!KNOWN.has(setting)) draft.note(`${place}.litellm_params.${setting}`, 'there is no such setting here')
  }
}

const isProvider = (prefix: string): boolean => Object.hasOwn(PRESET_OF, prefix) || ANY_ADDRESS.has(prefix)

/** How a deployment's provider is reached; undefined, with a note, where it cannot be. */
function reachedBy(
  draft: Draft,
  place: string,
  params: Fields,
  { prefix, listed }: { readonly prefix: string | undefined; readonly listed: Fields },
): Reached | undefined {
  const baseUrl = textIn(params, 'api_base') ?? textIn(params, 'base_url')
  const provider = prefix !== undefined && isProvider(prefix) ? prefix : (textIn(listed, 'litellm_provider') ?? prefix)
  if (baseUrl !== undefined && (provider === undefined || ANY_ADDRESS.has(provider) || !isProvider(provider))) {
    return { baseUrl: strippedUrl(baseUrl), name: hostOf(baseUrl) ?? provider ?? 'provider' }
  }
  const preset = PRESET_OF[provider ?? 'openai']
  if (preset === undefined) {
    draft.note(place, `the provider "${provider}" has no preset; give it an address in the OpenAI format`)
    return undefined
  }
  if (preset === 'azure') {
    if (baseUrl === undefined) {
      draft.note(place, 'it has no api_base; base_url of the preset azure is the address of your resource')
      return undefined
    }
    return azureResource(baseUrl)
  }
  return { preset, ...(baseUrl !== undefined && { baseUrl: strippedUrl(baseUrl) }), name: preset }
}

/** Costs that a deployment states beside its address. */
function definedCosts(params: Fields): Fields {
  return Object.fromEntries(Object.entries(params).filter(([name]) => /_cost(_|$)/.test(name)))
}

const ENVIRONMENT = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/

function keyOf(params: Fields): GivenKey {
  const key = textIn(params, 'api_key')
  if (key === undefined) return undefined
  const [, env] = ENVIRONMENT.exec(key) ?? []
  return env === undefined ? { secret: key } : { env }
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined
}
