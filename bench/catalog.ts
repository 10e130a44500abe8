import { CASES } from './cases.ts'
import { PROVIDER_HOST, type ProviderPorts } from './targets/provider.ts'

/** Sluice's catalog for the benchmark: one model a case, all served by the mock provider. */
export function catalogYaml({ providerPort, providerTlsPort }: ProviderPorts): string {
  const models = CASES.map(
    (kind) => `  - id: ${kind.publicModel}
    name: Bench ${kind.name}
    owned_by: bench
    modality: chat
    endpoints: [chat]
    context: 128000
    max_output: 16384
    price: { input: "0.15", output: "0.60", cached_input: "0.075" }
    routes: [ { provider: ${kind.tls === true ? 'mock-tls' : 'mock'}, model: "${kind.upstreamModel}", enabled: true } ]
`,
  )
  return `coin: { usd: "1" }
providers:
  - { id: mock, base_url: "http://127.0.0.1:${providerPort}/v1", dialect: openai, api_key_env: BENCH_API_KEY, data_policy: none }
  - { id: mock-tls, base_url: "https://${PROVIDER_HOST}:${providerTlsPort}/v1", dialect: openai, api_key_env: BENCH_API_KEY, data_policy: none }
models:
${models.join('')}`
}
