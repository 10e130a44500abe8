import type { DataPolicy } from '../../contract/catalog/catalog.ts'
import type { Dialect } from '../../contract/catalog/dialects.ts'
import type { RequestForm } from '../../contract/catalog/requestForm.ts'

/** A provider as its routes need it. The key itself is read from the environment of this process. */
export interface Provider {
  readonly id: string
  /** Scheme, host and port of the provider's address, and the base path of its endpoints. */
  readonly origin: string
  readonly host: string
  readonly basePath: string
  readonly dialect: Dialect
  readonly apiKey: string
  /** The environment variable that the provider's key is to come from and that is not set; empty when nothing is missing. */
  readonly missingKeyEnv: string
  readonly dataPolicy: DataPolicy
  /** The name of the output limit that the provider knows; empty forwards the client's. */
  readonly maxTokensField: string
  /** How it wants its requests, where that is not as usual. */
  readonly form: RequestForm | null
  /** It may be sent addresses of images that are not https on the public internet. */
  readonly privateImages: boolean
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
