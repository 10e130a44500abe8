import { LOG_COUNT } from '../book/usagelog/head.ts'
import { privateReceipts } from '../records/receipts/privateReceipts.ts'
import { textArray } from '../runtime/db/arrays.ts'
import type { Client } from '../runtime/db/pool.ts'
import { logsFrom } from './addReceipts.ts'
import type { AuditMark } from './auditMark.ts'
import { type AuditCheck, Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'
import { SheetModels } from './sheetModels.ts'
import { longQuery } from './workspace.ts'

/** A receipt of the private tier, or those of an archived month that agree in all of this. */
interface Attested {
  readonly name: string
  readonly attestation: string
  readonly provider: string
  readonly model: string
  readonly sheetVersion: number
  readonly receipts: number
  readonly firstHeldMs: number
  readonly lastHeldMs: number
}

interface Report {
  readonly id: string
  readonly provider: string
  readonly verdict: string
  readonly fromMs: number
  readonly untilMs: number
  /** Evidence and policy are those that their hashes name. */
  readonly intact: boolean
}

const PAGE = `
  SELECT r.position, request_id AS name, attestation, provider, model, sheet_version AS "sheetVersion", 1 AS receipts,
    held_at_ms AS "firstHeldMs", held_at_ms AS "lastHeldMs"
  FROM ${privateReceipts('receipts')} AND r.log = $1 AND r.position >= $2 ORDER BY r.position LIMIT $3`

const ARCHIVED = `
  SELECT 'archived ' || month || ' (' || receipts || ' receipts of ' || model || ')' AS name, attestation, provider, model,
    sheet_version AS "sheetVersion", receipts, first_held_ms AS "firstHeldMs", last_held_ms AS "lastHeldMs"
  FROM archived_attestations WHERE month <> ALL ($1::text[])
  ORDER BY month, attestation, provider, model, sheet_version LIMIT $2 OFFSET $3`

const REPORTS = `
  SELECT id, provider, verdict, floor(extract(epoch FROM fetched_at) * 1000)::bigint AS "fromMs",
    ceil(extract(epoch FROM valid_until) * 1000)::bigint AS "untilMs",
    encode(sha256(evidence), 'hex') = evidence_sha256
      AND encode(sha256(convert_to(policy, 'UTF8')), 'hex') = policy_sha256 AS intact
  FROM attestation_reports WHERE id = ANY ($1::text[])`

/**
 * Compares the receipts of the private tier with the reports of attested hardware that they name, archived months included.
 * @param mark to continue from: receipts before it and months that were archived then are not read again
 */
export async function checkAttested(
  client: Client,
  mark: AuditMark | undefined,
  limits: AuditLimits,
): Promise<AuditCheck[]> {
  const [unproved, stale] = [new Faults(), new Faults()]
  let receipts = 0
  for await (const page of pages(client, mark, limits)) {
    const reports = await reportsOf(client, page, limits)
    const sheets = new SheetModels(client)
    for (const row of page) {
      receipts += row.receipts
      const report = reports.get(row.attestation)
      const fault = faultOf(row, report) ?? (await unlisted(row, sheets))
      if (fault !== undefined) unproved.add(`${row.name}: ${fault}`)
      if (report !== undefined && !wasStanding(row, report, limits))
        stale.add(`${row.name} was held outside of ${report.id}`)
    }
  }
  const checked = `${receipts} receipts of the private tier`
  return [
    unproved.check('every private request names a verified report of the provider that served it', checked),
    stale.check('every private request was held while its report stood', checked),
  ]
}

async function* pages(client: Client, mark: AuditMark | undefined, limits: AuditLimits): AsyncGenerator<Attested[]> {
  const { auditPageMax: most } = limits
  const from = mark?.logs.slice(0, LOG_COUNT).map(({ size }) => size) ?? []
  for (const log of await logsFrom(client, from)) {
    for (let next = from[log] ?? 0; ; ) {
      const { rows } = await client.query<Attested & { position: number }>(longQuery(limits, PAGE, [log, next, most]))
      yield rows
      if (rows.length < most) break
      next = (rows.at(-1)?.position ?? next) + 1
    }
  }
  for (let offset = 0; ; offset += most) {
    const known = textArray([...(mark?.archives ?? [])])
    const { rows } = await client.query<Attested>(longQuery(limits, ARCHIVED, [known, most, offset]))
    yield rows
    if (rows.length < most) return
  }
}

/** The reports that receipts name, which are few. */
async function reportsOf(client: Client, page: readonly Attested[], limits: AuditLimits): Promise<Map<string, Report>> {
  const ids = [...new Set(page.map(({ attestation }) => attestation))].filter((id) => id !== '')
  if (ids.length === 0) return new Map()
  const { rows } = await client.query<Report>(longQuery(limits, REPORTS, [textArray(ids)]))
  return new Map(rows.map((report) => [report.id, report]))
}

function faultOf({ attestation, provider }: Attested, report: Report | undefined): string | undefined {
  if (attestation === '') return `${provider} served it, and it names no report`
  if (report === undefined) return `there is no report ${attestation}`
  if (report.provider !== provider) return `${provider} served it, and ${report.id} is of ${report.provider}`
  if (report.verdict !== 'verified') return `${report.id} was ${report.verdict}`
  return report.intact ? undefined : `${report.id} has other evidence or another policy than its hashes name`
}

/** Whether the price sheet has the model on attested hardware, with a route to the provider. */
async function unlisted({ sheetVersion, model, provider }: Attested, sheets: SheetModels): Promise<string | undefined> {
  const listed = (await sheets.of(sheetVersion)).get(model)
  if (listed === undefined || listed.attested === false) {
    return `price sheet ${sheetVersion} does not have ${model} on attested hardware`
  }
  const isRouted = listed.routes.some((route) => route.provider === provider)
  return isRouted ? undefined : `price sheet ${sheetVersion} has no route of ${model} to ${provider}`
}

function wasStanding(
  row: Attested,
  { fromMs, untilMs }: Report,
  { auditReportSlackMs: slackMs }: AuditLimits,
): boolean {
  return row.firstHeldMs >= fromMs - slackMs && row.lastHeldMs <= untilMs + slackMs
}
