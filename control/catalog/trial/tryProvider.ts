import { DIALECT } from '../../../contract/catalog/dialects.ts'
import { headersByName, ownPartsOf, withOwnQuery } from '../../../contract/providers/ownParts.ts'
import { readProviderError } from '../../../contract/providers/providerError.ts'
import { faultOf } from '../../../contract/providers/providerFault.ts'
import { readSecret, servesModel } from '../../../contract/providers/providerKeys.ts'
import { freshReads, type Reach, reachOf } from '../../../contract/providers/reach.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { CallError, type CallHttp, type HttpAnswer } from '../../runtime/net/httpCall.ts'
import type { CatalogLimits } from '../limits.ts'
import type { CatalogProvider } from '../pricing/catalogFile.ts'
import { unreachedText } from './unreached.ts'

/** The outcome of one call of a provider, in words. */
export interface TrialStep {
  readonly ok: boolean
  readonly text: string
}

/** A trial of a provider with one of its keys. */
export interface Trial {
  /** The id of the key; '' for a provider that takes none. */
  readonly key: string
  readonly steps: readonly TrialStep[]
}

export interface TrialOptions {
  /** The provider's own names of chat models: the first that a key serves is asked. */
  readonly models: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  readonly call: CallHttp
  readonly limits: Pick<CatalogLimits, 'trialTimeoutMs' | 'trialAnswerBytesMax'>
}

const OUTPUT_TOKENS = 16

/** Asks a provider with each of its keys for the list of its models and for one short answer. It costs some tokens. */
export async function tryProvider(provider: CatalogProvider, options: TrialOptions): Promise<Trial[]> {
  const { environment } = options
  const own = ownPartsOf(provider, (source) => readSecret(source, environment))
  const { reach, unread: unreached } = reachOf(provider, freshReads(environment))
  const lacking = [...own.unread, ...unreached].map(({ part, fault }) =>
    wrong(`${part.name}: ${part.file || part.env} is ${fault}`),
  )
  if (lacking.length > 0) return [{ key: '', steps: lacking }]
  const keys = provider.keys.length === 0 ? [undefined] : provider.keys
  const trials: Trial[] = []
  for (const key of keys) {
    const secret = key === undefined ? { text: '', fault: '' } : readSecret(key, environment)
    const place = key === undefined ? '' : key.file || key.env
    if (secret.fault !== '') {
      trials.push({ key: key?.id ?? '', steps: [wrong(`${place} is ${secret.fault}`)] })
      continue
    }
    const headers = {
      accept: 'application/json',
      ...DIALECT[provider.dialect].headers(secret.text),
      ...headersByName(own.headers),
    }
    const model = options.models.find((name) => key === undefined || servesModel(key, name))
    const asked = new Asked(provider, { headers, query: own.query, place, reach }, options)
    const listed = await asked.models()
    // A provider that is not reached, or that refuses the key, gets no second call.
    const steps = listed.final === true || model === undefined ? [listed] : [listed, await asked.answer(model)]
    trials.push({ key: key?.id ?? '', steps })
  }
  return trials
}

interface Reached {
  readonly headers: Readonly<Record<string, string>>
  readonly query: string
  /** The variable or the file of the key; '' for none. */
  readonly place: string
  readonly reach: Reach | undefined
}

interface Step extends TrialStep {
  /** Another call would have the same outcome. */
  readonly final?: boolean
}

class Asked {
  private readonly provider: CatalogProvider
  private readonly reached: Reached
  private readonly options: TrialOptions

  constructor(provider: CatalogProvider, reached: Reached, options: TrialOptions) {
    this.provider = provider
    this.reached = reached
    this.options = options
  }

  async models(): Promise<Step> {
    const answer = await this.send('GET', DIALECT[this.provider.dialect].modelsPath)
    if ('ok' in answer) return answer
    const list = objectOf(answer)?.['data']
    if (answer.status === 200 && Array.isArray(list))
      return right(`it lists ${list.length === 1 ? 'one model' : `${list.length} models`}`)
    const refused = this.refusal(answer)
    // Not every provider has a list, so that the answer decides.
    return refused.final === true ? refused : right(`it has no list of models (HTTP ${answer.status})`)
  }

  async answer(model: string): Promise<Step> {
    const { dialect, maxTokensField } = this.provider
    const { chatPath, answer: members } = DIALECT[dialect]
    const limit = maxTokensField === '' ? 'max_tokens' : maxTokensField
    const body = { model, [limit]: OUTPUT_TOKENS, messages: [{ role: 'user', content: 'Say hello.' }] }
    const startedMs = performance.now()
    const answer = await this.send('POST', chatPath, JSON.stringify(body))
    if ('ok' in answer) return answer
    if (answer.status !== 200) return this.refusal(answer, model)
    const whole = objectOf(answer)
    const found = whole?.['usage']
    const counts = isJsonObject(found) ? members.usage.map((name) => found[name]) : []
    const isCounted = counts.length === 2 && counts.every((count) => Number.isSafeInteger(count))
    if (!Array.isArray(whole?.[members.list])) {
      return wrong(`${model}: its answer is not in the dialect ${dialect}; try another dialect, or another base_url`)
    }
    const tookMs = Math.round(performance.now() - startedMs)
    if (!isCounted) return wrong(`${model}: it answers in ${tookMs} ms without usage, so that charges are estimates`)
    return right(`${model}: it answers in ${tookMs} ms, ${counts[0]} tokens of prompt and ${counts[1]} of output`)
  }

  private async send(method: 'GET' | 'POST', path: string, body?: string): Promise<HttpAnswer | Step> {
    const { headers, query, reach } = this.reached
    const { trialTimeoutMs: timeoutMs, trialAnswerBytesMax: answerBytesMax } = this.options.limits
    const url = new URL(this.provider.baseUrl + withOwnQuery(path, query))
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    try {
      return await this.options.call({
        method,
        url,
        headers: { ...headers, ...type },
        ...(body !== undefined && { body }),
        timeoutMs,
        answerBytesMax,
        allowPrivate: true,
        reach,
      })
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      const { caFile, certFile } = this.provider
      return { ...wrong(unreachedText(error, { url, timeoutMs, reach, caFile, certFile })), final: true }
    }
  }

  private refusal({ status, body }: HttpAnswer, model = ''): Step {
    const error = readProviderError(body.toString('utf8'))
    const { owner } = faultOf(status, error)
    const words = error.message.replace(/\s+/g, ' ').trim()
    const said = words === '' ? `HTTP ${status}` : `HTTP ${status}, ${words}`
    const what = model === '' ? '' : `${model}: `
    if (owner === 'account' || status === 401 || status === 403) {
      const { place } = this.reached
      return {
        ...wrong(`${what}it refuses ${place === '' ? 'calls without a key' : `the key of ${place}`} (${said})`),
        final: true,
      }
    }
    if (owner === 'rate') return { ...wrong(`${what}it limits its rate now (${said})`), final: true }
    if (owner === 'route') return wrong(`${what}it has no such model, or nothing at this base_url (${said})`)
    return wrong(`${what}it refuses the request (${said})`)
  }
}

function objectOf({ body }: HttpAnswer): JsonObject | null {
  return parseJsonObject(body.toString('utf8'))
}

const right = (text: string): Step => ({ ok: true, text })
const wrong = (text: string): Step => ({ ok: false, text })
