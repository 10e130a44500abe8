import { DIALECT, type Dialect } from '../../../../contract/catalog/dialects.ts'
import { GatewayError, invalidRequest } from '../../../../contract/errors/errors.ts'
import { parseWebUrl } from '../../../../contract/net/publicUrl.ts'
import { CallError, type CallFault, callHttp, type HttpCall } from '../../../runtime/net/httpCall.ts'
import type { MarketplaceLimits } from '../limits.ts'

/** An endpoint as it was given. */
export interface ProviderUrl {
  readonly baseUrl: URL
  readonly dialect: Dialect
  /** Only for the check; not stored. */
  readonly apiKey: string | undefined
}

const PARAM = 'base_url'
const SECURE = 'must begin with https://, because keys and prompts are sent there'

/**
 * Parses the address of an endpoint, and removes slashes at its end.
 * @param allowPrivate also allows http:
 * @throws GatewayError invalid_request
 */
export function readBaseUrl(text: string, allowPrivate: boolean): URL {
  const url = parseWebUrl(text)
  if (url === undefined) throw refuse('must be a URL such as https://host/v1, without a user, password and backslashes')
  if (url.protocol === 'http:' && !allowPrivate) throw refuse(SECURE)
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text)) throw refuse('must be without a query and fragment')
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url
}

const refuse = (what: string): GatewayError => invalidRequest(`${PARAM} ${what}.`, PARAM)

const FAULTS: Readonly<Record<CallFault, string>> = {
  not_found: 'The host of base_url is not known; check how it is written.',
  not_public: 'The host of base_url has an address that is not public; use one that the internet reaches.',
  timeout: 'The endpoint did not answer in time; make sure that it runs, and try again.',
  unreachable: 'The endpoint cannot be connected to; make sure that it runs and has a valid certificate.',
  too_large: 'The answer of the endpoint to GET models is too large; let it list fewer models.',
}

/**
 * Asks an endpoint for its models, which shows that it is reachable, public, and speaks its dialect.
 * @returns the ids of the models, at most limits.providerModelsMax
 * @throws GatewayError endpoint_unreachable, endpoint_not_public, endpoint_invalid
 */
export async function checkEndpoint(
  endpoint: ProviderUrl,
  options: Pick<HttpCall, 'allowPrivate' | 'lookup'>,
  limits: MarketplaceLimits,
): Promise<string[]> {
  const { baseUrl, dialect, apiKey } = endpoint
  const { modelsPath, headers } = DIALECT[dialect]
  try {
    const { status, body } = await callHttp({
      ...options,
      method: 'GET',
      url: new URL(baseUrl.href.replace(/\/$/, '') + modelsPath),
      headers: { accept: 'application/json', ...headers(apiKey ?? '') },
      timeoutMs: limits.providerCheckMs,
      answerBytesMax: limits.providerCheckBytesMax,
    })
    return modelsOf(status, body, apiKey !== undefined, limits)
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    const code = error.fault === 'not_public' ? 'endpoint_not_public' : 'endpoint_unreachable'
    throw new GatewayError(code, { message: FAULTS[error.fault], param: PARAM, cause: error })
  }
}

function modelsOf(status: number, body: Buffer, hasKey: boolean, limits: MarketplaceLimits): string[] {
  if (status === 401 || status === 403) {
    const what = hasKey ? 'refuses the key; send another api_key' : 'asks for a key; send one as api_key'
    throw invalid(`answered GET models with ${status}: it ${what}.`)
  }
  if (status !== 200) throw invalid(`answered GET models with ${status}, not with 200.`)
  const ids = idsIn(body)
  if (ids !== undefined && ids.length > 0) return ids.slice(0, limits.providerModelsMax)
  throw invalid('did not answer GET models with a list of models: {"data":[{"id":"..."}]}.')
}

const invalid = (what: string): GatewayError =>
  new GatewayError('endpoint_invalid', { message: `The endpoint ${what}`, param: PARAM })

function idsIn(body: Buffer): string[] | undefined {
  try {
    const { data } = JSON.parse(body.toString('utf8')) as { data?: unknown }
    if (!Array.isArray(data)) return undefined
    const ids = data.map((entry) => (entry as { id?: unknown } | null)?.id)
    return [...new Set(ids.filter((id): id is string => typeof id === 'string' && MODEL_ID.test(id)))]
  } catch {
    return undefined
  }
}

/** Printable ASCII without spaces, as model ids are in a catalog. */
const MODEL_ID = /^[\x21-\x7e]{1,256}$/
