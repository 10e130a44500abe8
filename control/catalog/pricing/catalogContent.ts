import type { DataPolicy, Endpoint, Modality, Thinking } from '../../../contract/catalog/catalog.ts'
import type { Dialect } from '../../../contract/catalog/dialects.ts'
import type { FallbackReason } from '../../../contract/catalog/fallback.ts'
import type { RouteOrderRule } from '../../../contract/catalog/routeOrder.ts'
import type { FirstFrame } from '../../../contract/catalog/video.ts'
import type { InputSchema } from '../../../contract/tools/inputSchema.ts'
import type { AttestationKind } from '../../evidence/attestationPolicy.ts'
import type { SnpTcb } from '../../evidence/snpReport.ts'
import type { TcbStatus } from '../../evidence/tcbInfo.ts'
import type { AmountKey } from './price.ts'

/** A catalog file as catalog.schema.json describes it, with its defaults. */
export interface CatalogContent {
  readonly coin: { readonly usd: string }
  readonly rate_lock?: { readonly renew: boolean }
  readonly providers: readonly ProviderContent[]
  readonly models: readonly ModelContent[]
  readonly tools?: readonly ToolContent[]
  readonly price_lists?: readonly PriceListContent[]
}

export interface PriceListContent {
  readonly provider: string
  readonly url?: string
  readonly file?: string
  readonly prefix?: string
}

export interface ProviderContent {
  readonly id: string
  readonly preset?: string
  readonly base_url: string
  readonly dialect: Dialect
  readonly api_key_env?: string
  readonly keys?: readonly KeyContent[]
  readonly headers: readonly OwnPartContent[]
  readonly query: readonly OwnPartContent[]
  readonly proxy?: { readonly url: string; readonly env?: string; readonly file?: string }
  readonly ca_file?: string
  readonly cert_file?: string
  readonly key_file?: string
  readonly data_policy: DataPolicy
  readonly max_tokens_field?: string
  readonly stream_usage: boolean
  readonly output_from: 'reported' | 'total'
  readonly event_streams: readonly string[]
  readonly thinking_member?: string
  readonly system_messages: 'many' | 'system' | 'first'
  readonly call_id_characters?: number
  readonly stop_sequences_max?: number
  readonly extra_members: readonly string[]
  readonly omit_members: readonly string[]
  readonly batch: boolean
  readonly private_images: boolean
  readonly trace_context: boolean
  readonly attestation?: AttestationContent
}

export interface LimitsContent {
  readonly requests_per_minute?: number
  readonly tokens_per_minute?: number
  readonly parallel?: number
}

export interface KeyContent extends LimitsContent {
  readonly id: string
  readonly env?: string
  readonly file?: string
  readonly weight: number
  readonly models?: readonly string[]
}

export interface OwnPartContent {
  readonly name: string
  readonly value?: string
  readonly env?: string
  readonly file?: string
}

export interface AttestationContent {
  readonly url: string
  readonly kind: AttestationKind
  readonly measurements: ReadonlyArray<Readonly<Record<string, string>>>
  readonly max_age_seconds: number
  readonly tcb_statuses?: readonly TcbStatus[]
  readonly min_tcb?: Partial<SnpTcb>
  readonly gpu: 'required' | 'none'
  readonly test_root?: string
}

/** Decimal strings of USD. */
export type AmountsContent = { readonly [K in AmountKey]?: string }

export interface PriceContent extends AmountsContent {
  readonly long_context?: AmountsContent & { readonly threshold: number }
  readonly sizes?: Readonly<Record<string, string>>
}

export interface RouteContent {
  readonly provider: string
  readonly model?: string
  readonly enabled: boolean
  readonly priority?: number
  readonly weight: number
  readonly cost?: AmountsContent
}

export interface FallbackContent {
  readonly model: string
  readonly on: readonly FallbackReason[]
}

export interface VideoContent {
  readonly seconds: readonly number[]
  readonly image: FirstFrame
  readonly aspect_ratios?: readonly string[]
  readonly sizes?: Readonly<Record<string, string>>
  readonly resolution?: string
  readonly negative_prompt?: number
  readonly prompt: number
}

export interface ModelContent {
  readonly limits?: LimitsContent
  readonly id: string
  readonly name?: string
  readonly owned_by: string
  readonly modality: Modality
  readonly endpoints: readonly Endpoint[]
  readonly context?: number
  readonly max_output?: number
  readonly default_output?: number
  readonly image_tokens: number
  readonly pdf_page_tokens?: number
  readonly pdf_pages?: number
  readonly thinking: Thinking
  readonly attested: boolean
  readonly verified: boolean
  readonly price: PriceContent
  readonly price_private?: PriceContent
  readonly order: RouteOrderRule
  readonly fallbacks?: readonly FallbackContent[]
  readonly routes: readonly RouteContent[]
  readonly video?: VideoContent
}

export interface ToolPriceContent {
  readonly call?: string
  readonly base?: string
  readonly result?: string
}

export interface UpstreamContent {
  readonly base_url: string
  readonly path?: string
  readonly method: string
  readonly api_key_env?: string
  readonly key_header?: string
  readonly request: unknown
  readonly results?: string
  readonly result?: Readonly<Record<string, string>>
  readonly output?: Readonly<Record<string, string>>
  readonly billed?: string
  readonly final_url?: string
}

export interface ToolContent {
  readonly id: string
  readonly name?: string
  readonly description: string
  readonly enabled: boolean
  readonly data_policy: DataPolicy
  readonly price: ToolPriceContent
  readonly cost: ToolPriceContent
  readonly input_schema: InputSchema
  readonly limit?: string
  readonly results_max?: number
  readonly public_url?: string
  readonly upstream: UpstreamContent
}
