import { observedOf } from '../../contract/api/observedDays.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { epochKey } from '../../contract/wire/redisKeys.ts'
import { settleLost } from '../admission/settleLost.ts'
import type { BatchService } from '../batch/batchService.ts'
import { sheetJson, sheetListJson } from '../catalog/pricing/sheetReads.ts'
import type { ObservedDays } from '../catalog/status/observedDays.ts'
import { balanceJson } from '../customers/accounts/accountJson.ts'
import { approvalRpc } from '../customers/agents/approvalRpc.ts'
import { resolveKey } from '../customers/keys/resolveKey.ts'
import { ReceiptReader } from '../customers/receipts/receiptReader.ts'
import type { ChainState } from '../onchain/chain/chainState.ts'
import { paymentHandlers } from '../onchain/service/paymentHandlers.ts'
import type { RpcHandlers } from '../runtime/bus/rpcOperations.ts'
import { type ApiParts, newApiRouter } from './apiRouter.ts'

/** What answers the proxies' calls, over the book and the admission state. */
export function rpcHandlers(
  parts: Omit<ApiParts, 'receipts'> & {
    readonly batches: BatchService
    readonly chain: Pick<ChainState, 'state'>
    readonly observedDays: ObservedDays
  },
): RpcHandlers {
  const { pool, redis, payments, batches, chain, observedDays, limits } = parts
  const receipts = new ReceiptReader(pool, redis, limits)
  const api = newApiRouter({ ...parts, receipts })
  return {
    ping: async ({ observed }) => {
      const [isOpen] = await Promise.all([redis.exists(epochKey(0)), pool.query('SELECT 1')])
      const seen = observed.map((record) => observedOf(sluice.ObservedRecord.create(record)))
      observedDays.add(
        seen.filter((entry) => entry !== undefined),
        Date.now(),
      )
      const reply = { chain: chain.state, admissionClosed: isOpen === 0 }
      return sluice.PingReply.encode(sluice.PingReply.create(reply)).finish()
    },
    resolve_key: async ({ keyHash }) => sluice.KeyRecord.encode(await resolveKey(pool, keyHash)).finish(),
    get_receipt: async ({ requestId, keyId }) => Buffer.from(await receipts.single(requestId, keyId)),
    get_balance: async ({ accountId }) => Buffer.from(JSON.stringify(await balanceJson(pool, redis, accountId))),
    list_sheets: async () => Buffer.from(await sheetListJson(pool)),
    get_sheet: async ({ version }) => Buffer.from(await sheetJson(pool, version)),
    settle_lost: async ({ settlement }) => {
      const chargeUnits = await settleLost(redis, pool, settlement, limits)
      return sluice.SettleLostReply.encode({ chargeUnits }).finish()
    },
    ...approvalRpc(pool, limits),
    api: async (request, { deadlineMs }) => {
      const reply = await api.answer(request, deadlineMs)
      return sluice.ApiReply.encode(reply as sluice.ApiReply).finish()
    },
    ...paymentHandlers(payments, redis, limits),
    submit_batch: (request) => batches.open(request),
  }
}
