import type { DataPolicy } from '../../contract/catalog/catalog.ts'
import type { Dialect } from '../../contract/catalog/dialects.ts'
import type { Quota } from '../../contract/catalog/quota.ts'
import type { RequestForm } from '../../contract/catalog/requestForm.ts'
import type { KeySource } from '../../contract/providers/providerKeys.ts'
import type { Reach } from '../../contract/providers/reach.ts'
import type { Pot } from '../quotas/pot.ts'

/** A key of a provider, without its secret. */
export interface ProviderKey {
  readonly id: string
  /** Unique among the keys of all providers. */
  readonly name: string
  readonly source: KeySource
  readonly weight: number
  /** The provider's own names of the models that it serves; none is all of them. */
  readonly models: readonly string[]
  /** See placeOf. */
  readonly place: number
  /** Of its quota at the provider; absent for one without. */
  readonly pot?: Pot
}

/** A key that cannot be read. */
export interface UnreadKey {
  readonly id: string
  /** The variable or the path. */
  readonly place: string
  readonly isFile: boolean
  readonly fault: string
}

/** A provider as its routes need it, with one of its keys. The secret is read from the environment of this process, or from a file. */
export interface Provider {
  readonly id: string
  /** Scheme, host and port of the provider's address, and the base path of its endpoints. */
  readonly origin: string
  readonly host: string
  readonly basePath: string
  readonly dialect: Dialect
  /** The secret; '' for a provider that takes no key. */
  readonly apiKey: string
  /** Headers that it wants with every request, name, value, name, value; absent for none. */
  readonly headers?: readonly string[]
  /** The query that it wants with every request, without the question mark; absent for none. */
  readonly query?: string
  /** How it is reached; absent is directly, with the usual certificates. */
  readonly reach?: Reach
  /** The key that it is of; absent for a provider that takes none, and for those that are not in the catalog. */
  readonly key?: ProviderKey
  /** The same provider with each of its keys that can be read; absent where it has one key, for all of its models. */
  readonly keyed?: readonly Provider[]
  /** Those of its keys that cannot be read; absent for none. */
  readonly unread?: readonly UnreadKey[]
  /** The variable or the path of a key, where none of its keys can be read; empty when nothing is missing. */
  readonly missingKey: string
  readonly dataPolicy: DataPolicy
  /** The name of the output limit that the provider knows; empty forwards the client's. */
  readonly maxTokensField: string
  /** How it wants its requests, where that is not as usual. */
  readonly form: RequestForm | null
  /** It may be sent addresses of images that are not https on the public internet. */
  readonly privateImages: boolean
  /** It gets the context of the traces of requests; absent is not. */
  readonly traceContext?: boolean
  /** The answers beside chat that it can send as events; absent for none. */
  readonly eventStreams?: readonly string[]
  /** Its output is what the total of a report has beside the prompt; absent is false. */
  readonly outputFromTotal?: boolean
  /** The attestation of its hardware, for the private tier; null while none is in force. */
  readonly report: StandingReport | null
  /** Connections go to public addresses alone; absent is to any. */
  readonly publicOnly?: boolean
}

/** A verified report of attested hardware. */
export interface StandingReport {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly validUntilMs: number
}

export interface Route {
  /** Unique among all routes: provider and upstream model. */
  readonly id: string
  readonly provider: Provider
  /** The provider's own name of the model. */
  readonly upstreamModel: string
  readonly enabled: boolean
  /** The operator has disabled it by hand. */
  readonly switchedOff: boolean
  /** Enabled, but for that. */
  readonly offered: boolean
  /** The provider's price in units, to compare the routes of a model; null if it is not stated. */
  readonly costUnits: number | null
  /** Of a registered provider; absent for routes of the catalog. */
  readonly registered?: Registered
  /** The same route with each of several keys; absent where it has one. */
  readonly keyed?: readonly Route[]
  /** Routes of one priority share requests by their weights; absent where the model's routes are tried in their order. */
  readonly share?: RouteShare
  /** The time to its first output is measured, because routes of its model are chosen by it; absent is not. */
  readonly timed?: boolean
}

/** The part of the requests that a route gets. */
export interface RouteShare {
  readonly priority: number
  readonly weight: number
  /** See placeOf. */
  readonly place: number
}

/** The criteria by which a registered provider is measured. */
export interface Registered {
  /** The id of the model in the catalog. */
  readonly model: string
  /** The bar of the time to the first output of a stream, in milliseconds. */
  readonly firstOutputMaxMs: number
}

/** A priced item: a model or a tool. */
export interface PricedItem {
  readonly id: string
  /** The unit on receipts: image, character, second, search, call, result; '' for tokens. */
  readonly unit: string
  /** The limits of each account on it; absent for none. */
  readonly quota?: Quota | undefined
  readonly sheet: Sheet
}

/** The price sheet that a model was read from; a request keeps the one it was held under. */
export interface Sheet {
  readonly version: number
  readonly coinUsdUnits: number
  readonly publishedAtMs: number
  readonly validUntilMs: number
  /** The public sheet as JSON text. */
  readonly json: Buffer
}
