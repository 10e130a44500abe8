import type { FallbackReason } from '../../../contract/catalog/fallback.ts'

/** A key of a provider, by the name of the variable that will have it. */
export interface DraftKey {
  readonly env: string
  /** Upstream names of the models that it serves. */
  readonly models: Set<string>
  /** The key itself, where the other gateway's file had it; it never goes into the catalog. */
  readonly secret?: string
}

export interface DraftProvider {
  readonly id: string
  readonly preset?: string
  readonly baseUrl?: string
  readonly keys: DraftKey[]
}

export interface DraftRoute {
  readonly provider: string
  readonly model: string
  readonly priority?: number
  readonly weight?: number
}

/** Facts of a model; the absent ones are unknown and have to be filled in. */
export interface ModelFacts {
  readonly modality: 'chat' | 'embedding' | 'image' | 'speech' | 'transcription' | 'rerank'
  readonly context?: number
  readonly maxOutput?: number
  /** Decimal strings of USD, by the names of the catalog. */
  readonly price: Readonly<Record<string, string>>
}

export interface DraftModel {
  readonly id: string
  readonly facts: ModelFacts
  readonly routes: DraftRoute[]
  /** The models that may serve in place of it, with the reasons. */
  readonly fallbacks: Map<DraftModel, Set<FallbackReason>>
}

/** A key as another gateway's file has it: the name of a variable, or the key itself. */
export type GivenKey = { readonly env: string } | { readonly secret: string } | undefined

/** How a provider is reached, as another gateway's file says it. */
export interface Reached {
  readonly preset?: string
  readonly baseUrl?: string
  /** For the id of a provider that has no preset. */
  readonly name: string
}

/** A catalog in the making, from the file of another gateway. */
export class Draft {
  readonly providers = new Map<string, DraftProvider>()
  readonly models = new Map<string, DraftModel>()
  /** The settings that could not be carried over, each with its place and the remedy. */
  readonly notes: string[] = []

  note(place: string, text: string): void {
    const line = `${place}: ${text}`
    if (!this.notes.includes(line)) this.notes.push(line)
  }

  /** The provider at an address, which is made at its first use. */
  provider({ preset, baseUrl, name }: Reached): DraftProvider {
    const same = [...this.providers.values()].find((known) => known.preset === preset && known.baseUrl === baseUrl)
    if (same !== undefined) return same
    const id = freeName(idOf(preset ?? name), (taken) => this.providers.has(taken))
    const made = { id, keys: [], ...(preset !== undefined && { preset }), ...(baseUrl !== undefined && { baseUrl }) }
    this.providers.set(id, made)
    return made
  }

  /** Adds a key to a provider, or the model to a key that it has. */
  key(provider: DraftProvider, given: GivenKey, model: string): void {
    if (given === undefined) return
    const same = provider.keys.find((known) =>
      'env' in given ? known.env === given.env : known.secret === given.secret,
    )
    if (same !== undefined) {
      same.models.add(model)
      return
    }
    const isTaken = (env: string) =>
      [...this.providers.values()].some(({ keys }) => keys.some((key) => key.env === env))
    const env = 'env' in given ? given.env : freeName(variableOf(provider.id), isTaken, '_')
    provider.keys.push({ env, models: new Set([model]), ...('secret' in given && given) })
  }

  /** The model that clients ask for, which is made at its first route. */
  model(place: string, name: string, facts: ModelFacts): DraftModel {
    const id = modelIdOf(name)
    if (id !== name) this.note(place, `"${name}" is no id of the catalog; the model is "${id}"`)
    const known = this.models.get(id)
    if (known !== undefined) return known
    const made = { id, facts, routes: [], fallbacks: new Map() }
    this.models.set(id, made)
    return made
  }

  /** Adds a route, unless the model has it: keys of one provider are no routes of their own. */
  route(model: DraftModel, route: DraftRoute): void {
    const isSame = (one: DraftRoute) => one.provider === route.provider && one.model === route.model
    if (!model.routes.some(isSame)) model.routes.push(route)
  }
}

/** The id of a model in the catalog, by its name in another gateway. */
export function modelIdOf(name: string): string {
  return name.replace(/[^A-Za-z0-9._/-]+/g, '-')
}

/** An id of the catalog. */
export function idOf(text: string): string {
  return (
    text
      .toLowerCase()
      .replace(/[^a-z0-9._-]+/g, '-')
      .replace(/^-+|-+$/g, '') || 'provider'
  )
}

function variableOf(providerId: string): string {
  return `${providerId.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}_API_KEY`.replace(/^(?=\d)/, 'P_')
}

function freeName(wanted: string, isTaken: (name: string) => boolean, joint = '-'): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? wanted : `${wanted}${joint}${n}`
    if (!isTaken(name)) return name
  }
}

/** The provider of an Azure resource, by its address with or without the path of the API. */
export function azureResource(url: string): Reached {
  return { preset: 'azure', baseUrl: `${strippedUrl(url).replace(/\/openai(\/.*)?$/, '')}/openai/v1`, name: 'azure' }
}

/** An address without slashes at its end. */
export function strippedUrl(url: string): string {
  return url.replace(/\/+$/, '')
}

/** A member with a number, or none. */
export function numbered<Name extends string>(
  name: Name,
  value: number | undefined,
): { readonly [K in Name]?: number } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [K in Name]?: number }
}
