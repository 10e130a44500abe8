import { observedOf } from '../../contract/api/observedDays.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { epochKey } from '../../contract/wire/redisKeys.ts'
import type { HoldVoider } from '../admission/holdVoider.ts'
import { settleLost } from '../admission/settleLost.ts'
import type { AccountApi } from '../api/accountApi.ts'
import type { PingPart } from '../api/product.ts'
import type { BatchService } from '../batch/batchService.ts'
import { logFile } from '../book/checkpoint/logFiles.ts'
import { bookedPositions, noteOwner, noteReplayed } from '../book/settlement/proxyOwners.ts'
import { sheetJson, sheetListJson } from '../catalog/pricing/sheetReads.ts'
import type { ObservedDays } from '../catalog/status/observedDays.ts'
import type { ChainState } from '../chain/chainState.ts'
import { balanceJson } from '../identity/accounts/accountJson.ts'
import { KeptKeyRecords } from '../runtime/bus/keptKeyRecords.ts'
import type { RpcHandlers } from '../runtime/bus/rpcOperations.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { joined } from '../runtime/joined.ts'
import type { ApiParts } from './apiHandlers.ts'
import { answerKeys, resolveKey } from './keyRecords.ts'

/** Handlers of the proxies' calls, over the book and the admission state. */
export function rpcHandlers(
  parts: Omit<ApiParts, 'log' | 'chain'> & {
    readonly api: AccountApi
    readonly batches: BatchService
    readonly voider: HoldVoider
    readonly chainState: Pick<ChainState, 'state' | 'payments'>
    readonly observedDays: ObservedDays
    readonly busKeys: readonly Buffer[]
    /** Reads the records of keys. */
    readonly lookups: Pool
  },
): Partial<RpcHandlers> {
  const { api, pool, redis, receipts, products, batches, voider, chainState, observedDays, limits } = parts
  const keys = { db: parts.lookups, kept: new KeptKeyRecords(redis, parts.busKeys, limits), limits }
  return {
    ping: async (ping) => {
      const { observed, owner, ended, begun } = ping
      const positions = ended ? bookedPositions(pool, owner) : noteOwner(pool, owner, begun)
      const [isOpen, booked, ...own] = await Promise.all([
        redis.exists(epochKey(0)),
        positions,
        ...products.flatMap(({ onPing }) => onPing?.(ping) ?? []),
      ])
      const seen = observed.map((record) => observedOf(sluice.ObservedRecord.create(record)))
      observedDays.add(
        seen.filter((entry) => entry !== undefined),
        Date.now(),
      )
      const { state: chain, payments } = chainState
      return { chain, payments, admissionClosed: isOpen === 0, booked, ...joined<PingPart>(own) }
    },
    resolve_key: ({ keyHash }) => resolveKey(parts.lookups, keyHash),
    resolve_keys: (request) => answerKeys(keys, request),
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
    account_api: (request, { deadlineMs }) => api.answer(request, deadlineMs),
    submit_batch: (request) => batches.open(request),
    ...joined<RpcHandlers>(products.map(({ rpc }) => rpc)),
  }
}
