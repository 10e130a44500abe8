import type { ContractLimits } from '../limits/limits.ts'
import { flag, pageLimit, text } from './fields.ts'
import { type ApiRoute, type JsonSchema, members } from './route.ts'

const checkpointSize = (what: string): JsonSchema => ({
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: `the size of ${what}, an integer above 0`,
})

export const logRoutes = (limits: ContractLimits) =>
  ({
    get_checkpoint: {
      method: 'GET',
      path: '/v1/log/checkpoint',
      auth: 'open',
      summary: 'The last checkpoint of the usage logs, as a signed note',
      query: members({ cosigned: flag('whether to answer the last one that a witness has cosigned') }),
    },
    cosign_checkpoint: {
      method: 'POST',
      path: '/v1/log/checkpoint',
      auth: 'open',
      summary: 'Add cosignatures of known witnesses to a checkpoint',
      body: members(
        {
          note: text('a checkpoint with its cosignatures, a signed note of at most 16,384 characters', 16_384, {
            pattern: '^[^\\x00-\\x09\\x0b-\\x1f\\x7f]+$',
          }),
        },
        ['note'],
      ),
    },
    list_checkpoints: {
      method: 'GET',
      path: '/v1/log/checkpoints',
      auth: 'open',
      summary: 'Checkpoints of the usage logs, newest first, each with its verifier key',
      query: members({
        limit: pageLimit(limits.listPageMax),
        after: checkpointSize('the last checkpoint of the page before'),
      }),
    },
    get_consistency: {
      method: 'GET',
      path: '/v1/log/consistency',
      auth: 'open',
      summary: 'The proof that a checkpoint contains an earlier one',
      query: members(
        { from: checkpointSize('a checkpoint'), to: checkpointSize('a later checkpoint, up to the last one') },
        ['from', 'to'],
      ),
    },
  }) as const satisfies Record<string, ApiRoute>
