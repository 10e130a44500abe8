import { flag, integer, is, mapOf, oneOf, orNull, pageOf, shape, text, time } from './shape.ts'

const REPORT = {
  id: text,
  kind: oneOf(['tdx', 'sev-snp']),
  nonce: text,
  measurements: orNull(mapOf(text)),
  report_data: orNull(text),
  tcb: orNull(text),
  fetched_at: time,
  valid_until: time,
  evidence_sha256: text,
  url: text,
}
const VERDICT = oneOf(['verified', 'refused', 'unreachable'])

/** Hardware attestations of providers, and a single report. */
export const PRIVACY_SHAPES = {
  AttestationList: pageOf(
    shape({
      object: is('attestation'),
      model: text,
      provider: text,
      verified: flag,
      since: orNull(time),
      demo: flag,
      kind: oneOf(['tdx', 'sev-snp']),
      gpu: flag,
      max_age_seconds: integer,
      report: orNull(shape(REPORT)),
      last_answer: orNull(shape({ report: text, verdict: VERDICT, fault: orNull(text), at: time })),
    }),
  ),
  AttestationReport: shape({
    object: is('attestation_report'),
    ...REPORT,
    provider: text,
    verdict: VERDICT,
    fault: orNull(text),
    reason: orNull(text),
    demo: flag,
    policy: { type: 'object' },
    policy_sha256: text,
    evidence: text,
  }),
}
