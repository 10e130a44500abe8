import { GatewayError } from '../../../contract/errors/errors.ts'
import type { ApiCall, ReadHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import {
  consistencyProof,
  lastCheckpoint,
  listCheckpoints,
  type StoredCheckpoint,
} from '../../book/checkpoint/checkpointReads.ts'
import type { Limits } from '../../limits.ts'
import type { Queryable } from '../../runtime/db/pool.ts'

/** What anybody may read of the checkpoints of the usage logs. */
export function logHandlers(db: Queryable, limits: Limits) {
  return {
    get_checkpoint: {
      read: async () => {
        const last = await lastCheckpoint(db)
        if (last === undefined) throw noCheckpoint()
        return { text: last.note, contentType: 'text/plain; charset=utf-8' }
      },
    },
    list_checkpoints: {
      read: async (call) => {
        const { limit } = pageOf(call, limits)
        const below = sizeOf(call, 'after') ?? Number.MAX_SAFE_INTEGER
        return { json: listJson((await listCheckpoints(db, limit + 1, below)).map(checkpointJson), limit) }
      },
    },
    get_consistency: {
      read: async (call) => {
        const [from, to] = [sizeOf(call, 'from') ?? 0, sizeOf(call, 'to') ?? 0]
        const proof = await consistencyProof(db, from, to)
        if (proof === undefined) throw noCheckpoint()
        return { json: { object: 'consistency_proof', from, to, proof } }
      },
    },
  } as const satisfies Record<string, ReadHandler>
}

function checkpointJson({ size, note, key, signedAt }: StoredCheckpoint) {
  return { object: 'checkpoint' as const, size, note, key, signed_at: signedAt.toISOString() }
}

function sizeOf({ query }: ApiCall, name: string): number | undefined {
  const value = query[name]
  return typeof value === 'number' ? value : undefined
}

function noCheckpoint(): GatewayError {
  return new GatewayError('not_found', { message: 'There is no such checkpoint.' })
}
