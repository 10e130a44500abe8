import { DATA_POLICIES, ENDPOINTS, MODALITIES } from '../../catalog/catalog.ts'
import { FIRST_FRAMES } from '../../catalog/video.ts'
import {
  decimal,
  flag,
  integer,
  is,
  joined,
  list,
  mapOf,
  oneOf,
  orNull,
  pageOf,
  ref,
  said,
  seconds,
  shape,
  text,
  time,
} from './shape.ts'

/** Prices by class; `long_context` has its own prices, and `sizes` those of images. */
const PRICE = { type: 'object', additionalProperties: { type: ['string', 'object'] } }

const VIDEO = shape({
  seconds: list(integer),
  image: oneOf(FIRST_FRAMES),
  aspect_ratios: list(text),
  resolution: orNull(text),
  negative_prompt_max: orNull(integer),
  prompt_max: integer,
})

const SHEET_MODEL = shape({
  id: text,
  name: text,
  owned_by: text,
  modality: oneOf(MODALITIES),
  unit: said('The unit of the price', text),
  endpoints: list(oneOf(ENDPOINTS)),
  context: orNull(integer),
  max_output: orNull(integer),
  price: said('USD per unit, by class', PRICE),
  'price_private?': said('The same on the private tier', PRICE),
  'attested?': flag,
  available: flag,
  rate_locked_until: time,
  routes: list(shape({ provider: text, enabled: flag, data_policy: oneOf(DATA_POLICIES) })),
})

const RATE_LOCK = shape({ days: integer, valid_until: time, renews: flag })

const SIGNATURE = shape({ algorithm: oneOf(['ed25519', 'eip191']), signer: text, signature: text })

const SIGNER = { number: text, address: text, ed25519: text, from_version: text }

/** Models, prices, tools and the signed catalog. */
export const CATALOG_SHAPES = {
  Model: said(
    'A model that serves now',
    shape({
      id: text,
      object: is('model'),
      created: seconds,
      owned_by: text,
      type: is('model'),
      display_name: text,
      created_at: time,
      modality: oneOf(MODALITIES),
      endpoints: list(oneOf(ENDPOINTS)),
      context_length: orNull(integer),
      max_output: orNull(integer),
      attested: flag,
      'video?': VIDEO,
    }),
  ),
  ModelList: joined(pageOf(ref('Model')), shape({ first_id: orNull(text), last_id: orNull(text) })),
  PriceSheet: said(
    'Everything that is sold, with its prices',
    shape({
      version: text,
      unit: is('million_tokens'),
      rate_lock: RATE_LOCK,
      coin: shape({ usd: decimal }),
      models: list(SHEET_MODEL),
      'tools?': list(shape({ id: text, name: text, price: mapOf(decimal), enabled: flag, rate_locked_until: time })),
    }),
  ),
  PriceSheetList: pageOf(shape({ object: is('price_sheet'), version: text, published_at: time, valid_until: time })),
  Tool: said(
    'A priced tool',
    shape({
      id: text,
      object: is('tool'),
      name: text,
      description: text,
      price: said('USD per call, or per call and per result', mapOf(decimal)),
      enabled: flag,
      retention_required: said('Whether its provider keeps requests', flag),
      input_schema: said('A JSON schema of its input', { type: 'object' }),
    }),
  ),
  ToolList: shape({ object: is('list'), data: list(ref('Tool')) }),
  Catalog: said('The catalog in force in canonical JSON (RFC 8785), as it is signed', {
    ...shape({ object: is('catalog'), layout: text, version: text, valid_from: time, valid_until: time }),
    additionalProperties: true,
  }),
  CatalogSignature: shape({
    object: is('catalog_signature'),
    version: text,
    digest: shape({ algorithm: is('sha-256'), hex: text }),
    message: text,
    signer: text,
    signatures: list(SIGNATURE),
    signed_at: time,
  }),
  CatalogSigner: shape({
    object: is('catalog_signer'),
    ...SIGNER,
    chain: list(
      shape({
        object: is('catalog_signer_link'),
        ...SIGNER,
        since: time,
        message: text,
        own_signatures: list(SIGNATURE),
        previous_signatures: list(SIGNATURE),
      }),
    ),
  }),
  CatalogVersionList: pageOf(
    shape({
      object: is('catalog_version'),
      version: text,
      sha256: text,
      price_sheet: text,
      valid_from: time,
      valid_until: time,
      signer: text,
      address: text,
    }),
  ),
  PriceObservationList: pageOf(
    shape({
      object: is('price_observation'),
      id: text,
      provider: text,
      source: orNull(text),
      sha256: text,
      last_sha256: text,
      observed_at: time,
      last_seen_at: time,
      current: flag,
      upstream_model: text,
      model: orNull(text),
      price: mapOf(decimal),
      price_sheet: orNull(text),
      sold: orNull(mapOf(decimal)),
      difference: orNull(mapOf(decimal)),
      above_sold: flag,
    }),
  ),
}
