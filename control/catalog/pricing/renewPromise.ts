import { DAY_MS } from '../../../contract/api/time.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import { type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { promiseEndMs, withPromiseEnd } from './sheet.ts'
import { currentRecord, insertRecord, insertRenewal, latestSheet } from './sheetStore.ts'

/**
 * Renews the promise of the sheet in force once a day has passed of it, so that its prices are always promised for 29
 * days at least. A catalog with `rate_lock: { renew: false }` lets the promise run out.
 * @param nowMs milliseconds since 1970
 * @returns the new record, or undefined when nothing was due
 */
export async function renewPromise(
  pool: Pool,
  nowMs: number,
): Promise<{ version: number; validUntilMs: number; record: Buffer } | undefined> {
  return withTransaction(pool, async (client) => {
    await lockUntilCommit(client, 'publication')
    const [sheet, encoded] = [await latestSheet(client), await currentRecord(client)]
    if (sheet === undefined || encoded === undefined) return undefined
    const inForce = sluice.CatalogRecord.decode(encoded)
    const validUntilMs = promiseEndMs(nowMs)
    if (inForce.promiseEnds || validUntilMs - sheet.validUntilMs < DAY_MS) return undefined
    await insertRenewal(client, sheet.version, validUntilMs, nowMs)
    inForce.validUntilMs = validUntilMs
    inForce.sheetJson = Buffer.from(withPromiseEnd(sheet.text, validUntilMs))
    const record = Buffer.from(sluice.CatalogRecord.encode(inForce).finish())
    await insertRecord(client, sheet.version, record, nowMs)
    return { version: sheet.version, validUntilMs, record }
  })
}
