import { sluice } from '../../contract/wire/generated/messages.js'
import { parseCatalog } from '../../control/catalog/pricing/catalogFile.ts'
import { encodeRecord } from '../../control/catalog/pricing/record.ts'

/** The text of a catalog file with one provider and one model. @param provider more members of the provider, as YAML */
export function acmeFile(provider: string, routes = '{ provider: acme }'): string {
  return [
    'coin: { usd: "1" }',
    'providers:',
    `  - { id: acme, base_url: "http://127.0.0.1:1/v1", dialect: openai, data_policy: none, ${provider} }`,
    'models:',
    '  - id: acme/small',
    '    owned_by: acme',
    '    modality: chat',
    '    endpoints: [chat]',
    '    context: 1000',
    '    max_output: 100',
    '    price: { input: "1", output: "1" }',
    `    routes: [ ${routes} ]`,
  ].join('\n')
}

/** The record of a catalog file, as proxies get it. */
export function recordOf(text: string): sluice.CatalogRecord {
  const publication = { version: 1, publishedAtMs: 1, validUntilMs: 2, sheetJson: '{}', listedAtMs: new Map() }
  return sluice.CatalogRecord.decode(encodeRecord(parseCatalog('catalog.yaml', text), publication))
}
