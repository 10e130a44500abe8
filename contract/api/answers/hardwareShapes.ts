import { flag, integer, is, openShape, orNull, pageOf, shape, text, time } from './shape.ts'

const HARDWARE_REPORT = openShape({ id: text, kind: text, nonce: text, fetched_at: time })

/** Evidence of attested hardware. */
export const HARDWARE_SHAPES = {
  HardwareList: pageOf(
    shape({
      object: is('attestation'),
      model: text,
      provider: text,
      verified: flag,
      since: orNull(time),
      demo: flag,
      kind: text,
      gpu: {},
      max_age_seconds: integer,
      report: orNull(HARDWARE_REPORT),
      last_answer: orNull(shape({ report: text, verdict: text, fault: orNull(text), at: time })),
    }),
  ),
  HardwareReport: openShape({
    object: is('attestation_report'),
    id: text,
    provider: text,
    verdict: text,
    policy_sha256: text,
    evidence: text,
  }),
}
