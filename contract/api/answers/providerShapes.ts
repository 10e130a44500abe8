import { flag, integer, is, list, number, oneOf, orNull, pageOf, ref, said, shape, text, time } from './shape.ts'

const STATE = oneOf(['probation', 'serving', 'suspended', 'removed'])
const REASON = said('Why it is suspended or removed', orNull(text))
const TRAFFIC = said('Its share of eligible requests now', number)
const UPTIME = said('The share of the time since it was admitted in which it was not suspended', number)
const TOLD = 'null unless enough accounts were served'

/** The public view of a provider's admission. */
const SERVING = shape({
  model: text,
  state: STATE,
  reason: REASON,
  since: time,
  state_since: time,
  traffic_share: TRAFFIC,
  uptime: UPTIME,
  requests: said(`Of the last days; ${TOLD}`, orNull(integer)),
  error_rate: said(TOLD, orNull(number)),
  first_output_ms: said(`The mean time to the first output of streams; ${TOLD}`, orNull(integer)),
})

/** Registered providers, and the models that they are admitted for. */
export const PROVIDER_SHAPES = {
  Provider: shape({
    object: is('provider'),
    id: text,
    name: text,
    base_url: text,
    dialect: text,
    data_policy: text,
    models: list(text),
    offered: said('Whether its owner offers it for serving', flag),
    serving: said('Its admissions, and its results', list(SERVING)),
    checked_at: time,
    created_at: time,
  }),
  ProviderList: pageOf(ref('Provider')),
  Admission: shape({
    object: is('provider.admission'),
    id: text,
    provider: text,
    model: text,
    upstream_model: text,
    state: STATE,
    reason: REASON,
    admitted_at: time,
    state_since: time,
    resumes_at: said('When a suspension ends by itself', orNull(time)),
    suspensions: integer,
    pay: shape({ 'share?': number, 'price?': shape({ input: text, cached_input: text, output: text }) }),
    traffic_share: TRAFFIC,
    uptime: UPTIME,
    bars: shape({ error_rate: number, first_output_ms: integer, mismatch_rate: number }),
    recent: shape({
      requests: integer,
      errors: integer,
      stalls: integer,
      slow_streams: integer,
      timed_streams: integer,
      over_reports: integer,
      compared: integer,
      different: integer,
    }),
    receipts: said('Those that were paid for', integer),
    earned: ref('Amount'),
  }),
  AdmissionList: shape({ object: is('list'), data: list(ref('Admission')) }),
}
