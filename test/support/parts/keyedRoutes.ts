import { sluice } from '../../../contract/wire/generated/messages.js'
import { decodeCatalog, type Model } from '../../../proxy/catalog/catalog.ts'
import { present } from '../present.ts'

/** A route of a model whose provider has keys. */
export interface KeyedSpec {
  readonly provider: string
  /** The secrets of its keys, by their ids; a key without one cannot be read. */
  readonly keys: Readonly<Record<string, string>>
  readonly weights?: Readonly<Record<string, number>>
  /** By key; absent is all models. */
  readonly models?: Readonly<Record<string, readonly string[]>>
  readonly priority?: number
  readonly weight?: number
  readonly costUnits?: number
}

/** A model as the proxy decodes it, whose providers have several keys. @param order of its routes; absent is by weight */
export function keyedModel(specs: readonly KeyedSpec[], order = ''): Model {
  const environment: NodeJS.ProcessEnv = {}
  const record = sluice.CatalogRecord.encode({
    version: 1,
    coinUsdUnits: 1,
    providers: specs.map(({ provider, keys, weights = {}, models = {} }) => ({
      id: provider,
      baseUrl: `http://${provider}.test/v1`,
      dialect: 'openai',
      dataPolicy: 'none',
      keys: Object.entries(keys).map(([id, secret]) => {
        const env = `${provider}_${id}`
        environment[env] = secret
        return { id, env, weight: weights[id] ?? 1, models: [...(models[id] ?? [])] }
      }),
    })),
    models: [
      {
        id: 'm',
        modality: 'chat',
        endpoints: ['chat'],
        rates: { input: 1, output: 1 },
        order,
        routes: specs.map(({ provider, priority = 0, weight = 1, costUnits }) => ({
          provider,
          model: 'x',
          enabled: true,
          priority,
          weight,
          ...(costUnits !== undefined && { costUnits }),
        })),
      },
    ],
  }).finish()
  return present(decodeCatalog(record, environment).models.get('m'))
}
