import type { ApiRoute } from './route.ts'

/** Batch jobs, which are submitted as chat completions. */
export const BATCH_ROUTES = {
  get_batch: {
    method: 'GET',
    path: '/v1/batches/{id}',
    auth: 'key',
    summary: 'A batch job and its state; only for the key that created it',
  },
  get_batch_result: {
    method: 'GET',
    path: '/v1/batches/{id}/result',
    auth: 'key',
    summary: 'The completion of a finished batch job, with its receipt',
  },
} as const satisfies Record<string, ApiRoute>
