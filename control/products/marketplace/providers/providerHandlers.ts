import type { DataPolicy } from '../../../../contract/catalog/catalog.ts'
import { type Dialect, USUAL_DIALECT } from '../../../../contract/catalog/dialects.ts'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { RateLimiter, refuseAfter } from '../../../../contract/std/rateLimiter.ts'
import { isId } from '../../../../contract/wire/ids.ts'
import { type ApiCall, preparedWrite, type ReadHandler, type WriteHandler } from '../../../api/call.ts'
import { listJson, pageOf } from '../../../api/lists.ts'
import type { Pool } from '../../../runtime/db/pool.ts'
import type { MarketplaceLimits } from '../limits.ts'
import { ownProvidersJson } from '../serving/ownProviders.ts'
import { type RecordJson, readRecords } from '../serving/record.ts'
import { checkEndpoint, readBaseUrl } from './checkEndpoint.ts'
import { type NewProvider, type Provider, pageOfProviders, registerProvider, removeProvider } from './providers.ts'

type ProviderOperation = 'list_providers' | 'register_provider' | 'get_own_providers' | 'remove_provider'

export interface ProviderParts {
  readonly pool: Pool
  readonly environment: { readonly allowPrivateProviders: boolean }
  readonly limits: MarketplaceLimits
}

/** The endpoints of providers. */
export function providerHandlers({
  pool,
  environment,
  limits,
}: ProviderParts): Record<ProviderOperation, ReadHandler | WriteHandler<unknown>> {
  const allowPrivate = environment.allowPrivateProviders
  // The rate limit keeps accounts from scanning hosts through the gateway.
  const perMinute = limits.providerChecksPerMinute
  const checks = new RateLimiter({ perMinute, burst: perMinute }, limits.rateLimiterEntriesMax)
  return {
    list_providers: {
      read: async (call) => {
        const { limit, after } = pageOf(call, limits)
        const page = await pageOfProviders(pool, limit + 1, after)
        const ids = page.map(({ id }) => id)
        const records = await readRecords(pool, ids, Date.now(), limits)
        const entries = page.map((provider) => providerJson(provider, records.get(provider.id) ?? []))
        return { json: listJson(entries, limit) }
      },
    },
    get_own_providers: {
      read: async ({ accountId }) => ({ json: await ownProvidersJson(pool, accountId, Date.now(), limits) }),
    },
    register_provider: preparedWrite<Checked>({
      prepare: async (call) => {
        const asked = readProvider(call, allowPrivate)
        refuseAfter(checks.take(call.accountId, Date.now()))
        const models = await checkEndpoint(asked.endpoint, { allowPrivate }, limits)
        return { provider: { ...asked.provider, models }, apiKey: asked.endpoint.apiKey }
      },
      write: async ({ actor }, client, checked) => {
        const { provider, isNew } = await registerProvider(client, actor, checked.provider, checked.apiKey, limits)
        const records = await readRecords(client, [provider.id], Date.now(), limits)
        return { status: isNew ? 201 : 200, json: providerJson(provider, records.get(provider.id) ?? []) }
      },
    }),
    remove_provider: {
      write: async ({ actor, accountId, params }, client) => {
        const id = params['id'] ?? ''
        if (!isId('prov', id)) throw new GatewayError('provider_not_found')
        await removeProvider(client, actor, id, accountId)
        return { json: { object: 'provider' as const, id, deleted: true } }
      },
    },
  }
}

/** The registration of a checked endpoint, and its key. */
interface Checked {
  readonly provider: NewProvider
  readonly apiKey: string | undefined
}

/** The schema of the route has checked the types. */
function readProvider({ accountId, body }: ApiCall, allowPrivate: boolean) {
  const fields = body as {
    name: string
    base_url: string
    dialect?: Dialect
    api_key?: string
    data_policy?: DataPolicy
    offered?: boolean
  }
  const baseUrl = readBaseUrl(fields.base_url, allowPrivate)
  const dialect = fields.dialect ?? USUAL_DIALECT
  // Without a statement of the owner, the weakest policy is assumed.
  const dataPolicy = fields.data_policy ?? 'retained'
  const href = baseUrl.href.replace(/\/$/, '')
  return {
    endpoint: { baseUrl, dialect, apiKey: fields.api_key },
    provider: { accountId, name: fields.name, baseUrl: href, dialect, dataPolicy, offered: fields.offered === true },
  }
}

/** A provider as shown in public, without its owner. @param serving its admissions and track records */
export function providerJson(provider: Provider, serving: readonly RecordJson[]) {
  return {
    object: 'provider' as const,
    id: provider.id,
    name: provider.name,
    base_url: provider.baseUrl,
    dialect: provider.dialect,
    data_policy: provider.dataPolicy,
    models: provider.models,
    offered: provider.offered,
    serving,
    checked_at: new Date(provider.checkedAtMs).toISOString(),
    created_at: new Date(provider.createdAtMs).toISOString(),
  }
}
