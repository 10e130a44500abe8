import { sluice } from '../../contract/wire/generated/messages.js'
import type { HoldRecord } from './holdRecord.ts'

const DURATION_MS_MAX = 2 ** 31 - 1

/**
 * The settlement of an orphaned hold: nothing was charged.
 * @param nowMs on Redis's clock
 * @returns the Settlement message
 */
export function orphanSettlement(hold: HoldRecord, nowMs: number): Buffer {
  return Buffer.from(
    sluice.Settlement.encode({
      requestId: hold.requestId,
      accountId: hold.accountId,
      keyId: hold.keyId,
      model: hold.model,
      endpoint: hold.endpoint,
      sheetVersion: hold.sheetVersion,
      streamed: hold.streamed,
      status: sluice.Status.ORPHANED,
      holdUnits: hold.holdUnits,
      startedAtMs: hold.heldAtMs,
      durationMs: Math.min(Math.max(nowMs - hold.heldAtMs, 0), DURATION_MS_MAX),
    }).finish(),
  )
}
