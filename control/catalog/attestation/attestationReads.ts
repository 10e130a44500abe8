import { GatewayError } from '../../../contract/errors/errors.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { policyOf } from '../../evidence/attestationPolicy.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { currentRecord } from '../pricing/sheetStore.ts'
import { lastReport, reportOf, type StoredReport, verifiedSince } from './reportStore.ts'

/** The public state of a provider's hardware, the same for all of its models. */
async function providerState(db: Queryable, provider: sluice.ProviderRecord, nowMs: number) {
  const policy = policyOf(provider.attestation)
  const last = await lastReport(db, provider.id)
  const standing = provider.report?.id ?? ''
  const isCurrent = standing !== '' && Number(provider.report?.validUntilMs ?? 0) > nowMs
  const report = isCurrent ? await reportOf(db, standing) : undefined
  const since = report && (await verifiedSince(db, provider.id, report.id))
  return {
    verified: report !== undefined,
    since: since?.toISOString() ?? null,
    demo: policy.testRoot !== undefined,
    kind: policy.kind,
    gpu: policy.gpu,
    max_age_seconds: policy.maxAgeSeconds,
    report: report === undefined ? null : shownReport(report),
    last_answer:
      last === undefined
        ? null
        : { report: last.id, verdict: last.verdict, fault: last.fault || null, at: last.fetchedAt.toISOString() },
  }
}

/**
 * GET /v1/privacy/attestation: each model of the private tier with each of its providers that has to prove its hardware.
 * @param nowMs milliseconds since 1970
 */
export async function attestationListJson(db: Queryable, nowMs: number) {
  const encoded = await currentRecord(db)
  const record = sluice.CatalogRecord.decode(encoded ?? Buffer.alloc(0))
  const providers = record.providers.map((provider) => sluice.ProviderRecord.create(provider))
  const states = new Map<string, Awaited<ReturnType<typeof providerState>>>()
  for (const provider of providers) {
    if (provider.attestation !== '') states.set(provider.id, await providerState(db, provider, nowMs))
  }
  const data = record.models
    .filter(({ ratesPrivate, unitRatesPrivate }) => ratesPrivate || unitRatesPrivate)
    .flatMap(({ id: model, routes }) =>
      [...new Set((routes ?? []).map(({ provider }) => provider ?? ''))].flatMap((provider) => {
        const state = states.get(provider)
        return state === undefined ? [] : [{ object: 'attestation' as const, model, provider, ...state }]
      }),
    )
  return { object: 'list' as const, data, has_more: false }
}

/** One report with all that it takes to verify it again. @throws GatewayError not_found */
export async function attestationReportJson(db: Queryable, id: string) {
  const found = await reportOf(db, id)
  if (found === undefined) throw new GatewayError('not_found', { message: 'There is no such attestation report.' })
  const policy = policyOf(found.policy)
  return {
    object: 'attestation_report' as const,
    ...shownReport(found),
    provider: found.provider,
    verdict: found.verdict,
    fault: found.fault || null,
    reason: found.reason || null,
    demo: policy.testRoot !== undefined,
    policy: {
      kind: policy.kind,
      measurements: policy.measurements,
      max_age_seconds: policy.maxAgeSeconds,
      tcb_statuses: policy.tcbStatuses ?? null,
      min_tcb: policy.minTcb ?? null,
      gpu: policy.gpu,
      test_root: policy.testRoot ?? null,
    },
    policy_sha256: found.policySha256,
    evidence: found.evidence.toString('utf8'),
  }
}

function shownReport(report: StoredReport) {
  const { measurements } = report
  return {
    id: report.id,
    kind: policyOf(report.policy).kind,
    nonce: report.nonce,
    measurements: measurements === null ? null : (JSON.parse(measurements) as Record<string, string>),
    report_data: report.reportData || null,
    tcb: report.tcb || null,
    fetched_at: report.fetchedAt.toISOString(),
    valid_until: report.validUntil.toISOString(),
    evidence_sha256: report.evidenceSha256,
    url: `/v1/privacy/attestation?report=${report.id}`,
  }
}
