import type { ReadHandler } from '../../api/call.ts'
import type { Explainer } from './explainer.ts'

/** GET /v1/account/requests/{id}: a request of the key, or of the whole account for a session. */
export function explainHandler(explainer: Explainer): ReadHandler {
  return {
    read: async ({ accountId, caller, params }) => {
      const keyId = caller.kind === 'key' ? caller.keyId : ''
      return { json: await explainer.explain(params['id'] ?? '', { accountId, keyId }) }
    },
  }
}
