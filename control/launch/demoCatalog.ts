import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSecret } from '../../contract/providers/providerKeys.ts'
import { readCatalogFile } from '../catalog/pricing/catalogFile.ts'
import { DEMO_MEASUREMENTS, DEMO_ROOT } from './demoAttestation.ts'
import { freePort } from './process/freePort.ts'
import type { Settings } from './settings.ts'

/** The catalog to run with, and the port of the mock provider when it is the demo's. */
export interface CatalogChoice {
  readonly path: string
  readonly providerPort?: number
}

/**
 * The named catalog, unchanged; else the default one if at least one of its providers can be used; else a demo catalog in
 * the data folder, whose models the mock provider serves.
 * @throws FileError when the default catalog is malformed
 */
export async function chooseCatalog(settings: Settings, env: NodeJS.ProcessEnv): Promise<CatalogChoice> {
  if (settings.catalogPath !== undefined) return { path: settings.catalogPath }
  if (existsSync(settings.defaultCatalogPath)) {
    const { providers } = await readCatalogFile(settings.defaultCatalogPath)
    if (providers.some(({ keys }) => keys.length === 0 || keys.some((key) => readSecret(key, env).text !== ''))) {
      return { path: settings.defaultCatalogPath }
    }
  }
  const path = join(settings.dataDir, 'demo-catalog.yaml')
  const providerPort = await freePort(portOf(path))
  writeFileSync(path, demoCatalog(providerPort))
  return { path, providerPort }
}

/** The mock provider keeps its port across restarts where it is still free. */
function portOf(path: string): number {
  if (!existsSync(path)) return 0
  return Number(/127\.0\.0\.1:(\d+)/.exec(readFileSync(path, 'utf8'))?.[1] ?? 0)
}

/** The text of the demo's catalog. @param port that of the mock provider */
export function demoCatalog(port: number): string {
  return `# Written at every start without a provider key. For your own models, see catalog.yaml.
coin: { usd: "1" }
providers:
  - { id: demo, base_url: "http://127.0.0.1:${port}/v1", dialect: openai, data_policy: none, batch: true, event_streams: [speech, images] }
  # Evidence of the mock provider, by a root whose key is public: it shows the private tier and proves nothing.
  - id: demo-attested
    base_url: "http://127.0.0.1:${port}/v1"
    dialect: openai
    data_policy: none
    attestation:
      url: "http://127.0.0.1:${port}/v1/attestation/report"
      kind: tdx
      measurements: [ { mrtd: "${DEMO_MEASUREMENTS.mrtd}", rtmr3: "${DEMO_MEASUREMENTS.rtmr3}" } ]
      test_root: |
${DEMO_ROOT.trimEnd().replace(/^/gm, '        ')}
models:
  - id: demo/chat-small
    name: Demo Chat Small
    owned_by: demo
    modality: chat
    endpoints: [chat, completions, messages, responses]
    context: 128000
    max_output: 16384
    default_output: 1024
    price: { input: "0.15", output: "0.60", cached_input: "0.075", batch_input: "0.075", batch_output: "0.30" }
    routes: [ { provider: demo, model: "chat-small,chunks=24,delay=30" } ]
  - id: demo/chat-large
    name: Demo Chat Large
    owned_by: demo
    modality: chat
    endpoints: [chat, completions, messages, responses]
    context: 200000
    max_output: 32768
    default_output: 4096
    price: { input: "2.50", output: "10", cached_input: "0.25" }
    routes: [ { provider: demo, model: "chat-large,chunks=96,delay=20" } ]
  - id: demo/slow-story
    name: Demo Slow Story
    owned_by: demo
    modality: chat
    endpoints: [chat, completions, messages, responses]
    context: 32000
    max_output: 8192
    default_output: 2048
    price: { input: "0.50", output: "1.50" }
    routes: [ { provider: demo, model: "slow-story,chunks=300,delay=100" } ]
  - id: demo/private
    name: Demo Private (attested by a test root)
    owned_by: demo
    modality: chat
    endpoints: [chat]
    context: 128000
    max_output: 16384
    default_output: 1024
    attested: true
    price: { input: "0.30", output: "1.20" }
    price_private: { input: "0.45", output: "1.80" }
    routes: [ { provider: demo-attested, model: "chat-small,chunks=24,delay=30" } ]
  - id: demo/embedding
    owned_by: demo
    modality: embedding
    endpoints: [embeddings]
    context: 8192
    price: { input: "0.02" }
    routes: [ { provider: demo, model: "embedding,dims=256" } ]
  - id: demo/image
    owned_by: demo
    modality: image
    endpoints: [images, image_edits]
    price: { image: "0.04" }
    routes: [ { provider: demo, model: "image" } ]
  - id: demo/speech
    owned_by: demo
    modality: speech
    endpoints: [speech]
    price: { character: "15" }
    routes: [ { provider: demo, model: "speech,chunks=40,delay=25" } ]
  - id: demo/transcription
    owned_by: demo
    modality: transcription
    endpoints: [transcriptions]
    price: { second: "0.0001" }
    routes: [ { provider: demo, model: "transcription,usage=none" } ]
  - id: demo/rerank
    owned_by: demo
    modality: rerank
    endpoints: [rerank]
    price: { search: "0.002" }
    routes: [ { provider: demo, model: "rerank" } ]
tools:
  - id: web.search
    name: Web search
    description: Searches the web (demo results).
    data_policy: retained
    price: { base: "0.00105", result: "0.00021" }
    cost: { base: "0.001", result: "0.0002" }
    limit: count
    results_max: 10
    input_schema:
      type: object
      properties:
        query: { type: string, minLength: 1, maxLength: 400 }
        count: { type: integer, minimum: 1, maximum: 10, default: 5 }
      required: [query]
      additionalProperties: false
    upstream:
      base_url: "http://127.0.0.1:${port}/v1"
      path: /search
      request: { model: demo, q: "{query}", num: "{count}" }
      results: /web/results
      result: { title: /title, url: /link, snippet: /description }
      billed: /usage/results
  - id: web.scrape
    name: Read a web page
    description: Reads a web page as text (a demo page).
    data_policy: retained
    price: { call: "0.0021" }
    cost: { call: "0.002" }
    public_url: url
    input_schema:
      type: object
      properties: { url: { type: string, format: uri, maxLength: 2048 } }
      required: [url]
      additionalProperties: false
    upstream:
      base_url: "http://127.0.0.1:${port}/v1"
      path: /scrape
      request: { model: demo, url: "{url}" }
      output: { url: /data/url, title: /data/title, content: /data/markdown }
      final_url: /data/url
`
}
