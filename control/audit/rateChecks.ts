import { chargeUnits, promptTokens, type RateSet, type TokenUsage } from '../../contract/money/charge.ts'
import type { ReceiptFields } from '../../contract/money/receipt.ts'
import { MAX_UNITS } from '../../contract/money/units.ts'
import { LOG_COUNT } from '../book/usagelog/head.ts'
import { effectiveRates, priceFromJson } from '../catalog/pricing/price.ts'
import type { SheetModel } from '../catalog/pricing/sheet.ts'
import type { Client } from '../runtime/db/pool.ts'
import { logsFrom } from './addReceipts.ts'
import type { AuditMark } from './auditMark.ts'
import { type AuditCheck, Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'
import { SheetModels } from './sheetModels.ts'
import { longQuery } from './workspace.ts'

interface RatedRow
  extends TokenUsage,
    Pick<ReceiptFields, 'requestId' | 'model' | 'sheetVersion' | 'unit' | 'quantity' | 'size'> {
  readonly position: number
  readonly rate: string
  readonly tier: string
  readonly chargeUnits: number
}

const PAGE = `
  SELECT position, request_id AS "requestId", model, sheet_version AS "sheetVersion", rate, tier, unit,
    quantity, size,
    charge_units AS "chargeUnits", input_tokens AS input, cached_input_tokens AS "cachedInput",
    cache_write_5m_tokens AS "cacheWrite5m", cache_write_1h_tokens AS "cacheWrite1h", output_tokens AS output,
    reasoning_tokens AS reasoning
  FROM receipts WHERE (rate = 'batch' OR tier = 'private' OR size <> '') AND log = $1 AND position >= $2
  ORDER BY position LIMIT $3`

/**
 * Compares the receipts of batches, of the private tier and of sized images with the price sheets that they name.
 * @param mark to continue from
 */
export async function checkRates(
  client: Client,
  mark: AuditMark | undefined,
  limits: AuditLimits,
): Promise<AuditCheck[]> {
  const [unsold, tooDear] = [new Faults(), new Faults()]
  let receipts = 0
  const from = mark?.logs.slice(0, LOG_COUNT).map(({ size }) => size) ?? []
  for (const log of await logsFrom(client, from)) {
    for await (const { row, sheets } of ratedRows(client, log, from[log] ?? 0, limits)) {
      receipts++
      const limit = chargeLimit(row, (await sheets.of(row.sheetVersion)).get(row.model))
      const { requestId, chargeUnits: charged } = row
      if (limit === undefined) {
        unsold.add(
          `${requestId}: price sheet ${row.sheetVersion} has no ${row.rate} rates of ${row.model} (${row.tier})`,
        )
      } else if (charged > limit) tooDear.add(`${requestId} was charged ${charged}, its price sheet says ${limit}`)
    }
  }
  const checked = `${receipts} receipts of batches, the private tier and sized images`
  return [
    unsold.check('every receipt names rates of its price sheet', checked),
    tooDear.check('no batch or private request exceeds its rates, and no batch the standard ones', checked),
  ]
}

async function* ratedRows(client: Client, log: number, from: number, limits: AuditLimits) {
  for (let next = from; ; ) {
    const sheets = new SheetModels(client)
    const page = await client.query<RatedRow>(longQuery(limits, PAGE, [log, next, limits.auditPageMax]))
    for (const row of page.rows) yield { row, sheets }
    if (page.rows.length < limits.auditPageMax) return
    next = (page.rows.at(-1)?.position ?? next) + 1
  }
}

/** The most that a receipt may charge by its price sheet; undefined if the sheet does not sell its model. */
function chargeLimit(row: RatedRow, listed: SheetModel | undefined): number | undefined {
  const json = row.tier === 'private' ? listed?.price_private : listed?.price
  if (json === undefined) return undefined
  const price = priceFromJson(json)
  if (row.size !== '') {
    const priceUnits = price.sizes?.get(row.size)
    return priceUnits === undefined ? undefined : Math.min(priceUnits * row.quantity, MAX_UNITS)
  }
  // Prices per other units than tokens have neither batch rates nor rates of attested hardware.
  if (row.unit !== '') return undefined
  const prompt = promptTokens(row)
  const standard = effectiveRates(price, '', prompt)
  if (row.rate !== 'batch') return standard && due(standard, row)
  const batch = effectiveRates(price, 'batch_', prompt)
  return batch && standard && Math.min(due(batch, row), due(standard, row))
}

function due(rates: RateSet, usage: TokenUsage): number {
  return chargeUnits({ ...rates, longThreshold: 0, long: rates }, usage)
}
