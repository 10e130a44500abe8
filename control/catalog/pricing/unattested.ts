import type { Catalog } from './catalogFile.ts'

/**
 * The models with a private price that no provider of theirs can prove its hardware for: the private tier of each answers
 * model_unverified. Such a catalog holds all the same, because a private price that was promised may not be withdrawn.
 */
export function unattestedModels({ models, providers }: Pick<Catalog, 'models' | 'providers'>): string[] {
  const attested = new Set(providers.filter(({ attestation }) => attestation !== undefined).map(({ id }) => id))
  return models
    .filter(({ pricePrivate, routes }) => pricePrivate && !routes.some(({ provider }) => attested.has(provider)))
    .map(({ id }) => id)
}
