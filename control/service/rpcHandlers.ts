import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { settleLost } from '../admission/settleLost.ts'
import type { RpcHandlers } from '../bus/rpcOperations.ts'
import { sluice } from '../contract/generated/messages.js'
import type { Pool } from '../db/pool.ts'
import { resolveKey } from '../keys/resolveKey.ts'
import { sheetJson, sheetListJson } from '../pricing/sheetReads.ts'
import { ReceiptReader } from '../receipts/receiptReader.ts'
import { newApiRouter } from './apiRouter.ts'
import type { Environment } from './environment.ts'

/** What answers the proxies' calls, over the book and the admission state. */
export function rpcHandlers(
  pool: Pool,
  redis: Redis,
  log: Logger,
  environment: Pick<Environment, 'publicUrl' | 'chainRpcUrl'>,
): RpcHandlers {
  const receipts = new ReceiptReader(pool, redis)
  const api = newApiRouter({ pool, redis, log, receipts, environment })
  return {
    ping: async () => {
      await pool.query('SELECT 1')
      return new Uint8Array(0)
    },
    resolve_key: async ({ keyHash }) => sluice.KeyRecord.encode(await resolveKey(pool, keyHash)).finish(),
    get_receipt: async ({ requestId, keyId }) => Buffer.from(await receipts.single(requestId, keyId)),
    list_sheets: async () => Buffer.from(await sheetListJson(pool)),
    get_sheet: async ({ version }) => Buffer.from(await sheetJson(pool, version)),
    settle_lost: async ({ settlement }) => {
      const chargeUnits = await settleLost(redis, pool, settlement)
      return sluice.SettleLostReply.encode({ chargeUnits }).finish()
    },
    api: async (request, { deadlineMs }) => {
      const reply = await api.answer(request, deadlineMs)
      return sluice.ApiReply.encode(reply as sluice.ApiReply).finish()
    },
  }
}
