import { GatewayError } from '../../../contract/errors/errors.ts'
import type { ApiCall, ApiHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import {
  consistencyProof,
  lastCheckpoint,
  lastCosigned,
  listCheckpoints,
  type StoredCheckpoint,
} from '../../book/checkpoint/checkpointReads.ts'
import { cosign } from '../../book/checkpoint/cosign.ts'
import type { WitnessKey } from '../../book/checkpoint/witnessKey.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'

/**
 * The public reads of the checkpoints of the usage logs, and the write with which witnesses cosign them.
 * @param witnesses the witnesses whose cosignatures are accepted
 */
export function logHandlers(db: Queryable, witnesses: readonly WitnessKey[], limits: RecordsLimits) {
  return {
    get_checkpoint: {
      read: async ({ query }) => {
        const last = query['cosigned'] === true ? await lastCosigned(db) : await lastCheckpoint(db)
        if (last === undefined) throw noCheckpoint()
        return { text: last.note, contentType: 'text/plain; charset=utf-8' }
      },
    },
    cosign_checkpoint: {
      write: async ({ body }, client) => {
        const cosigned = await cosign(client, String(body['note']), witnesses, limits)
        return { json: { object: 'cosigned_checkpoint', ...cosigned } }
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
  } as const satisfies Record<string, ApiHandler>
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
