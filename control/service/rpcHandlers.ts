import { observedOf } from '../../contract/api/observedDays.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { epochKey } from '../../contract/wire/redisKeys.ts'
import type { HoldVoider } from '../admission/holdVoider.ts'
import { settleLost } from '../admission/settleLost.ts'
import type { AccountApi } from '../api/accountApi.ts'
import type { BatchService } from '../batch/batchService.ts'
import { logFile } from '../book/checkpoint/logFiles.ts'
import { bookedPositions, noteOwner, noteReplayed } from '../book/settlement/proxyOwners.ts'
import { sheetJson, sheetListJson } from '../catalog/pricing/sheetReads.ts'
import type { ObservedDays } from '../catalog/status/observedDays.ts'
import type { ChainState } from '../chain/chainState.ts'
import { balanceJson } from '../identity/accounts/accountJson.ts'
import { approvalRpc } from '../products/agents/approvalRpc.ts'
import type { ServingService } from '../products/marketplace/serving/servingService.ts'
import { paymentHandlers } from '../products/payments/paymentHandlers.ts'
import { withdrawalState } from '../products/reserve/withdrawalGate.ts'
import type { RpcHandlers } from '../runtime/bus/rpcOperations.ts'
import type { ApiParts } from './apiHandlers.ts'
import { resolveKey } from './keyRecord.ts'

/** Handlers of the proxies' calls, over the book and the admission state. */
export function rpcHandlers(
  parts: Omit<ApiParts, 'log' | 'debits' | 'applyToAdmission'> & {
    readonly api: AccountApi
    readonly batches: BatchService
    readonly voider: HoldVoider
    readonly chain: Pick<ChainState, 'state' | 'payments'>
    readonly observedDays: ObservedDays
    readonly serving: Pick<ServingService, 'measured'>
  },
): RpcHandlers {
  const { api, pool, redis, receipts, payments, batches, voider, chain, observedDays, serving, limits } = parts
  return {
    ping: async ({ observed, owner, ended, measured, begun }) => {
      const positions = ended ? bookedPositions(pool, owner) : noteOwner(pool, owner, begun)
      const [isOpen, booked, withdrawals] = await Promise.all([
        redis.exists(epochKey(0)),
        positions,
        withdrawalState(pool, payments, limits),
      ])
      const seen = observed.map((record) => observedOf(sluice.ObservedRecord.create(record)))
      observedDays.add(
        seen.filter((entry) => entry !== undefined),
        Date.now(),
      )
      await serving.measured(measured.map((record) => sluice.RouteMeasure.create(record)))
      return { chain: chain.state, payments: chain.payments, admissionClosed: isOpen === 0, booked, withdrawals }
    },
    resolve_key: ({ keyHash }) => resolveKey(pool, keyHash),
    get_receipt: ({ requestId, keyId }) => receipts.single(requestId, keyId),
    get_balance: async ({ accountId }) => JSON.stringify(await balanceJson(pool, redis, accountId)),
    list_sheets: () => sheetListJson(pool),
    get_sheet: ({ version }) => sheetJson(pool, version),
    void_holds: async ({ owner }) => {
      const left = await voider.voidOwner(owner)
      if (left === 0) await noteReplayed(pool, owner)
      return { left }
    },
    get_log_file: async ({ path }) => {
      const file = await logFile(pool, path, parts.environment.logKey)
      if (file === undefined) throw new GatewayError('not_found', { message: 'The usage logs have no such file.' })
      return file
    },
    settle_lost: async ({ settlement }) => ({ chargeUnits: await settleLost(redis, pool, settlement, limits) }),
    ...approvalRpc(pool, limits),
    account_api: (request, { deadlineMs }) => api.answer(request, deadlineMs),
    ...paymentHandlers(payments, chain, redis, limits),
    submit_batch: (request) => batches.open(request),
  }
}
