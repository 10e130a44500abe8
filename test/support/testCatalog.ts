import { DEMO_MEASUREMENTS, DEMO_ROOT } from '../../control/launch/demoAttestation.ts'

/** A chat model of a test's catalog; what is left out has the values of `testCatalog`. */
export interface TestModel {
  /** Such as `test/small`. */
  readonly id: string
  /** What the mock provider is asked for; its name says how it behaves. Default `chat-small`. */
  readonly upstream?: string
  readonly price?: Record<string, unknown>
  readonly context?: number
  readonly max_output?: number
  readonly default_output?: number
  readonly endpoints?: string[]
  /** Replaces the one route to `mock`. */
  readonly routes?: ReadonlyArray<{ provider: string; model: string; enabled?: boolean }>
  /** Any other member of the catalog file. */
  [member: string]: unknown
}

/** What the mock provider proves of its hardware. @param providerUrl its address, with /v1 */
export function mockAttestation(providerUrl: string): Record<string, unknown> {
  const url = `${providerUrl}/attestation/report`
  return { url, kind: 'tdx', measurements: [DEMO_MEASUREMENTS], max_age_seconds: 3600, test_root: DEMO_ROOT }
}

export interface TestProvider {
  readonly id: string
  /** Default: the mock provider of the stack. */
  readonly base_url?: string
  /** It proves its hardware as the mock provider does. */
  readonly attested?: boolean
  [member: string]: unknown
}

export interface TestTool {
  readonly id: string
  readonly upstream: { base_url?: string; [member: string]: unknown }
  [member: string]: unknown
}

export interface TestCatalogOptions {
  readonly models?: readonly TestModel[]
  readonly providers?: readonly TestProvider[]
  /** Priced tools; their upstream is the mock provider unless it says otherwise. */
  readonly tools?: readonly TestTool[]
  readonly coinUsd?: string
}

/** USD per million tokens of models without a price of their own. */
export const TEST_PRICE = { input: '1', output: '2', cached_input: '0.5' }

/** The text of a catalog file (JSON is YAML) whose providers are the mock provider. */
export function testCatalog(providerUrl: string, options: TestCatalogOptions = {}): string {
  const providers = (options.providers ?? [{ id: 'mock' }]).map(({ attested = false, ...provider }: TestProvider) => ({
    base_url: providerUrl,
    dialect: 'openai',
    ...(provider['keys'] === undefined && { api_key_env: 'SLUICE_TEST_PROVIDER_KEY' }),
    data_policy: 'none',
    ...(attested && { attestation: mockAttestation(providerUrl) }),
    ...provider,
  }))
  const models = (options.models ?? [{ id: 'test/small' }]).map(({ upstream = 'chat-small', ...model }) => ({
    owned_by: 'test',
    modality: 'chat',
    endpoints: ['chat'],
    context: 128_000,
    max_output: 16_384,
    price: TEST_PRICE,
    routes: [{ provider: 'mock', model: upstream }],
    ...model,
  }))
  const tools = (options.tools ?? []).map((tool) => ({
    ...tool,
    upstream: { base_url: providerUrl, ...tool.upstream },
  }))
  const some = tools.length > 0 ? { tools } : {}
  return JSON.stringify({ coin: { usd: options.coinUsd ?? '1' }, providers, models, ...some }, null, 2)
}
