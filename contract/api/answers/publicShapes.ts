import { CHAIN_HEALTHS, PAYMENT_STATES, WITHDRAWAL_STATES } from '../../wire/chainHealth.ts'
import { IMPACTS, SERVICE_STATES } from '../incidents.ts'
import {
  day,
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
  shape,
  text,
  time,
} from './shape.ts'

const TOKENS = {
  input: integer,
  cached_input: integer,
  cache_write_5m: integer,
  cache_write_1h: integer,
  output: integer,
}

const SUMS = {
  requests: integer,
  ok: integer,
  ended_by_client: integer,
  failed: integer,
  success_rate: orNull(decimal),
  tokens: shape({ ...TOKENS, reasoning: integer, total: integer }),
  charge: ref('UsdAmount'),
}

const TIMES = shape({
  count: integer,
  p50: orNull(integer),
  p90: orNull(integer),
  p95: orNull(integer),
  p99: orNull(integer),
})

const FIGURES = { ...SUMS, latency_ms: TIMES, first_token_ms: TIMES }

const RATES = {
  input: decimal,
  cached_input: decimal,
  cache_write_5m: decimal,
  cache_write_1h: decimal,
  output: decimal,
}

const LIMITED = { requests: integer, period_seconds: integer, burst: integer }

const NUMBERS: Readonly<Record<string, unknown>> = {
  type: 'object',
  additionalProperties: { type: ['number', 'string', 'object'] },
}

/** Status, limits, usage logs and public figures. */
export const PUBLIC_SHAPES = {
  Limits: said('Rate limits, sizes and timeouts that are in force', {
    ...shape({
      object: is('limits'),
      rate_limits: list(shape({ id: text, scope: text, applies_to: text, 'note?': text, ...LIMITED })),
      concurrency: NUMBERS,
      request: NUMBERS,
      tools: NUMBERS,
      videos: NUMBERS,
      batches: NUMBERS,
      timeouts_seconds: NUMBERS,
      lists: NUMBERS,
      account: NUMBERS,
    }),
    additionalProperties: true,
  }),
  Health: shape({
    status: oneOf(['ok', 'degraded', 'draining']),
    control: oneOf(['ok', 'unavailable']),
    database: oneOf(['ok', 'unavailable', 'unknown']),
    ledger: oneOf(['ok', 'unavailable']),
    chain: oneOf(CHAIN_HEALTHS),
    withdrawals: oneOf(WITHDRAWAL_STATES),
    payments: oneOf(PAYMENT_STATES),
    upstreams: shape({ models: integer, serving: integer }),
  }),
  Ready: shape({ ready: flag, reasons: list(text) }),
  Incident: shape({
    object: is('incident'),
    id: text,
    title: text,
    impact: oneOf(IMPACTS),
    status: oneOf(['open', 'closed']),
    models: list(text),
    note: orNull(text),
    resolution: orNull(text),
    opened_at: time,
    closed_at: orNull(time),
  }),
  Status: shape({
    object: is('status'),
    status: oneOf(SERVICE_STATES),
    components: list(shape({ name: text, status: oneOf(SERVICE_STATES) })),
    models: shape({ listed: integer, serving: integer, unavailable: list(text) }),
    incidents: list(ref('Incident')),
    updated_at: time,
  }),
  StatusHistory: shape({
    object: is('status_history'),
    days: list(shape({ date: day, status: oneOf(SERVICE_STATES), incidents: list(text) })),
    incidents: list(ref('Incident')),
  }),
  CheckpointList: pageOf(shape({ object: is('checkpoint'), size: integer, note: text, key: text, signed_at: time })),
  CosignedCheckpoint: shape({ object: is('cosigned_checkpoint'), size: integer, witnesses: list(text) }),
  ConsistencyProof: shape({ object: is('consistency_proof'), from: integer, to: integer, proof: list(text) }),
  Stats: shape({
    object: is('stats'),
    from: day,
    to: day,
    model: orNull(text),
    accounts_min: integer,
    total: shape(FIGURES),
    days: list(shape({ object: is('stats_day'), day, ...FIGURES })),
    models: list(shape({ object: is('stats_model'), model: text, ...FIGURES })),
    others: shape(FIGURES),
    all_time: shape(SUMS),
    bounds_ms: list(integer),
  }),
  Rankings: joined(
    shape({
      object: is('rankings'),
      of: text,
      by: text,
      over: text,
      from: day,
      to: day,
      before: shape({ from: day, to: day }),
      accounts_min: integer,
      data: list(
        shape({
          object: is('rank'),
          rank: integer,
          id: text,
          requests: integer,
          tokens: integer,
          charge: ref('UsdAmount'),
          growth: orNull(decimal),
          is_new: flag,
        }),
      ),
      has_more: flag,
    }),
  ),
  PriceIndex: shape({
    object: is('price_index'),
    method: text,
    base_value: decimal,
    every: text,
    from: day,
    to: day,
    basket: orNull(
      shape({
        object: is('index_basket'),
        id: integer,
        weights: text,
        base: shape({ from: day, to: day }),
        models: list(
          shape({
            model: text,
            tokens: shape(TOKENS),
            base_price: shape(RATES),
            share: decimal,
            left_on: orNull(day),
          }),
        ),
      }),
    ),
    baskets: list(integer),
    data: list(shape({ object: is('index_value'), day, value: decimal, price_sheet: text })),
  }),
  Network: shape({
    object: is('network'),
    base_url: orNull(text),
    endpoints: mapOf(orNull(text)),
    chain: orNull({ type: 'object', additionalProperties: true }),
    log: orNull(shape({ origin: text, key: text, checkpoint: text })),
    versions: shape({ gateway: text, price_sheet: orNull(text) }),
  }),
  FigureList: pageOf(
    shape({
      object: is('figure'),
      name: text,
      value: { type: ['number', 'string', 'null'] },
      unit: text,
      source: text,
      pointer: orNull(text),
      how: text,
      left_out: flag,
    }),
  ),
}
