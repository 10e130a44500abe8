import { createHash } from 'node:crypto'
import { getAddress } from 'viem/utils'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { ApiCall, ReadHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { batchNumbered, pageOfBatches, type StoredBatch } from './batchRow.ts'
import type { SettlementsLimits } from './limits.ts'
import type { Statement } from './statement.ts'

/** The public reads of settlement batches; a gateway that anchors none has none. */
export function settlementHandlers(
  db: Queryable,
  limits: SettlementsLimits,
): Record<'list_settlements' | 'get_settlement', ReadHandler> {
  return {
    list_settlements: {
      read: async (call) => {
        const { limit } = pageOf(call, limits)
        const after = call.query['after']
        const below = typeof after === 'number' ? after : Number.MAX_SAFE_INTEGER
        return { json: listJson((await pageOfBatches(db, limit + 1, below)).map(batchJson), limit) }
      },
    },
    get_settlement: {
      read: async (call) => {
        const number = numberOf(call)
        const batch = number === undefined ? undefined : await batchNumbered(db, number)
        if (batch === undefined) {
          throw new GatewayError('not_found', { message: 'There is no settlement batch of this number.' })
        }
        const { note: checkpoint, key, statement } = batch
        return { json: { ...batchJson(batch), checkpoint, key, statement } }
      },
    },
  }
}

function numberOf({ params }: ApiCall): number | undefined {
  const text = params['number'] ?? ''
  const number = Number(text)
  return /^[1-9]\d*$/.test(text) && Number.isSafeInteger(number) ? number : undefined
}

function batchJson(batch: StoredBatch) {
  const { anchored } = batch
  const { network, origin, receipts, logs, charged, reserve } = JSON.parse(batch.statement) as Statement
  return {
    object: 'settlement' as const,
    number: batch.number,
    state: anchored === undefined ? ('pending' as const) : ('anchored' as const),
    network,
    contract: anchored === undefined ? null : getAddress(anchored.contract),
    transaction: anchored?.hash ?? null,
    block: anchored?.block ?? null,
    confirmations: anchored?.confirmations ?? 0,
    origin,
    tree_size_from: batch.treeSizeFrom,
    tree_size: batch.treeSize,
    root: batch.root.toString('hex'),
    receipts,
    logs,
    charged,
    reserve,
    statement_sha256: createHash('sha256').update(batch.statement, 'utf8').digest('hex'),
    created_at: batch.createdAt.toISOString(),
  }
}
