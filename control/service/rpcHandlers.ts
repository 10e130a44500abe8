import type { Redis } from 'ioredis'
import { settleLost } from '../admission/settleLost.ts'
import type { RpcHandlers } from '../bus/rpcOperations.ts'
import { sluice } from '../contract/generated/messages.js'
import type { Pool } from '../db/pool.ts'
import { resolveKey } from '../keys/resolveKey.ts'
import { sheetJson, sheetListJson } from '../pricing/sheetReads.ts'
import { ReceiptReader } from '../receipts/receiptReader.ts'

/** What answers the proxies' calls, over the book and the admission state. */
export function rpcHandlers(pool: Pool, redis: Redis): RpcHandlers {
  const receipts = new ReceiptReader(pool, redis)
  return {
    ping: async () => {
      await pool.query('SELECT 1')
      return new Uint8Array(0)
    },
    resolve_key: async ({ keyHash }) => sluice.KeyRecord.encode(await resolveKey(pool, keyHash)).finish(),
    get_receipt: async ({ requestId, keyId }) => Buffer.from(await receipts.single(requestId, keyId)),
    list_receipts: async (request) => Buffer.from(await receipts.list(request)),
    list_sheets: async () => Buffer.from(await sheetListJson(pool)),
    get_sheet: async ({ version }) => Buffer.from(await sheetJson(pool, version)),
    settle_lost: async ({ settlement }) => {
      const chargeUnits = await settleLost(redis, pool, settlement)
      return sluice.SettleLostReply.encode({ chargeUnits }).finish()
    },
  }
}
