import { isDialect } from '../../contract/catalog/dialects.ts'
import { type CallSeal, providerKeyLabel } from '../../contract/wire/callSeal.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Route } from './pricedItem.ts'

/** A registered provider that is asked first for a share of the requests to a model. */
export interface Canary {
  readonly route: Route
  /** Of a million eligible requests. */
  readonly trafficPpm: number
  /** The account that registered it; it does not serve that account's own requests. */
  readonly accountId: string
}

/**
 * Decodes the registered providers that serve, by the ids of their models.
 * @param seal decrypts their keys; a provider whose key cannot be decrypted, or of an unknown dialect, is left out
 */
export function decodeServing(bytes: Uint8Array, seal: Pick<CallSeal, 'open'>): ReadonlyMap<string, readonly Canary[]> {
  const found = new Map<string, Canary[]>()
  for (const bare of sluice.ServingRecord.decode(bytes).routes) {
    const record = sluice.ServingRoute.create(bare)
    const route = routeOf(record, seal)
    if (route === undefined) continue
    const canaries = found.get(record.model) ?? []
    canaries.push({ route, trafficPpm: record.trafficPpm, accountId: record.accountId })
    found.set(record.model, canaries)
  }
  return found
}

function routeOf(record: sluice.ServingRoute, seal: Pick<CallSeal, 'open'>): Route | undefined {
  const { provider: id, sealedKey, dataPolicy, model, upstreamModel, firstOutputMaxMs, dialect } = record
  const opened = sealedKey.length === 0 ? Buffer.alloc(0) : seal.open(providerKeyLabel(id), sealedKey)
  if (opened === undefined || !isDialect(dialect)) return undefined
  const url = new URL(record.baseUrl)
  return {
    id: `${id}/${upstreamModel}`,
    provider: {
      id,
      origin: url.origin,
      host: url.host,
      basePath: url.pathname.replace(/\/+$/, ''),
      dialect,
      apiKey: Buffer.from(opened).toString(),
      missingKey: '',
      dataPolicy: dataPolicy === 'none' ? 'none' : 'retained',
      maxTokensField: '',
      form: null,
      privateImages: false,
      report: null,
      publicOnly: record.publicOnly,
    },
    upstreamModel,
    enabled: true,
    switchedOff: false,
    offered: true,
    costUnits: null,
    registered: { model, firstOutputMaxMs },
  }
}
