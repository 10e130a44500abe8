import { modelRates } from '../../../../contract/catalog/catalog.ts'
import { isDialect } from '../../../../contract/catalog/dialects.ts'
import type { ModelRates } from '../../../../contract/money/charge.ts'
import { headersByName, readOwnParts } from '../../../../contract/providers/ownParts.ts'
import { firstSecret } from '../../../../contract/providers/providerKeys.ts'
import { freshReads, reachOf } from '../../../../contract/providers/reach.ts'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { currentRecord } from '../../../catalog/pricing/sheetStore.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { AskedModel } from './askModel.ts'
import type { OutputLimits } from './comparison.ts'

/** A model of the current catalog: its prices, and the route that answers are compared with. */
export interface ProbedModel extends OutputLimits {
  readonly rates: ModelRates
  readonly reference: AskedModel
}

/**
 * The first route of a model in the current catalog that is enabled and whose API key this process has.
 * @param environment holds the keys
 * @returns undefined without such a route
 */
export async function probedModel(
  db: Queryable,
  modelId: string,
  environment: NodeJS.ProcessEnv,
): Promise<ProbedModel | undefined> {
  const encoded = await currentRecord(db)
  if (encoded === undefined) return undefined
  const { models, providers } = sluice.CatalogRecord.decode(encoded)
  const found = models.find(({ id }) => id === modelId)
  if (found?.rates == null) return undefined
  const reads = freshReads(environment)
  for (const bare of found.routes ?? []) {
    const route = sluice.RouteRecord.create(bare)
    const provider = sluice.ProviderRecord.create(providers.find(({ id }) => id === route.provider) ?? {})
    const apiKey = firstSecret(provider, environment, route.model)
    const own = readOwnParts(provider, environment)
    const { reach, isClosed } = reachOf(provider, reads)
    const isOff = isClosed || !route.enabled || route.switchedOff || provider.id === ''
    const { dialect, baseUrl, maxTokensField } = provider
    if (isOff || apiKey === undefined || own === undefined || !isDialect(dialect)) continue
    const reference = {
      baseUrl: baseUrl.replace(/\/+$/, ''),
      dialect,
      apiKey,
      headers: headersByName(own.headers),
      query: own.query,
      ...(reach && { reach }),
      model: route.model,
      maxTokensField,
    } as const
    const { maxOutput = 0, defaultOutput = 0 } = sluice.ModelRecord.create(found)
    const outputs = { maxOutput, defaultOutput: defaultOutput || maxOutput }
    return { rates: modelRates(found.rates), ...outputs, reference: { ...reference, allowPrivate: true } }
  }
  return undefined
}
