import type { Catalog } from './catalogFile.ts'

/**
 * The models with a private price but without a provider that can prove its hardware: the private tier of each answers
 * model_unverified. Such a catalog is still valid, because a private price that was promised may not be withdrawn.
 */
export function unattestedModels({ models, providers }: Pick<Catalog, 'models' | 'providers'>): string[] {
  const attested = new Set(providers.filter(({ attestation }) => attestation !== undefined).map(({ id }) => id))
  return models
    .filter(({ pricePrivate, routes }) => pricePrivate && !routes.some(({ provider }) => attested.has(provider)))
    .map(({ id }) => id)
}
