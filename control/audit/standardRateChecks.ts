import { LOG_COUNT } from '../book/usagelog/head.ts'
import { intArray } from '../runtime/db/arrays.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { AuditMark } from './auditMark.ts'
import type { AuditCheck, Invariant } from './check.ts'
import { checkInvariant } from './invariant.ts'
import type { AuditLimits } from './limits.ts'
import { createSheetRates, DUE, EXCEEDS_DUE, ratedBy } from './sheetRates.ts'

/** Those of the logs from the given positions on, log by log over the index. */
const NEW_RECEIPTS = `(
  SELECT n.* FROM unnest($1::bigint[]) WITH ORDINALITY AS l (size, number)
  CROSS JOIN LATERAL (SELECT * FROM receipts WHERE log = l.number - 1 AND position >= l.size OFFSET 0) AS n)`

/**
 * Standard receipts are compared with the price sheet that they name, and with the routes that it has. Those of registered providers
 * are counted by their admissions, and an abandoned request has an estimate and no provider. The upstream of a tool bills some
 * unusable answers, which no sheet has.
 * @param receipts SQL of the rows that are read
 */
const standardRates = (receipts: string): Invariant => ({
  name: 'no request at the standard rate exceeds its price sheet or was served elsewhere',
  checked: `SELECT count(DISTINCT version) || ' price sheets' FROM sheet_rates`,
  faults: `
    SELECT r.request_id || ' was charged ' || r.charge_units || ', price sheet ' || r.sheet_version ||
      CASE WHEN s.version IS NULL THEN ' does not sell ' || r.model
        WHEN ${EXCEEDS_DUE} THEN ' says ' || ${DUE}
        ELSE ' has no route to ' || r.provider END
    FROM ${receipts} r LEFT JOIN ${ratedBy('r')}
    WHERE r.charge_units > 0 AND r.rate = 'standard' AND r.tier = 'standard' AND NOT (r.endpoint = 'tools' AND r.status = 'partial')
      AND CASE WHEN s.version IS NULL THEN EXISTS (SELECT FROM sheet_rates) ELSE
        ${EXCEEDS_DUE} OR coalesce(r.provider <> ALL (s.providers), false)
          AND (r.provider <> '' OR r.usage_source <> 'estimated') AND r.provider NOT LIKE 'prov\\_%' END`,
})

/**
 * Compares receipts at the standard rate with their price sheets.
 * @param mark to continue from
 */
export async function checkStandardRates(
  client: Client,
  mark: AuditMark | undefined,
  limits: AuditLimits,
): Promise<AuditCheck[]> {
  await createSheetRates(client)
  if (mark === undefined) return [await checkInvariant(client, standardRates('receipts'), limits)]
  const sizes = mark.logs.slice(0, LOG_COUNT).map(({ size }) => size)
  return [await checkInvariant(client, standardRates(NEW_RECEIPTS), limits, [intArray(sizes)])]
}
