import type { ReadHandler } from '../../api/call.ts'
import { pageOf } from '../../api/lists.ts'
import type { RecordsLimits } from '../limits.ts'
import type { ReceiptReader } from './receiptReader.ts'

/** GET /v1/receipts: the receipts of the key, or of the whole account for a session. */
export function receiptListHandler(receipts: ReceiptReader, limits: RecordsLimits): ReadHandler {
  return {
    read: async (call) => {
      const keyId = call.caller.kind === 'key' ? call.caller.keyId : ''
      return { text: await receipts.list({ accountId: call.accountId, keyId, ...pageOf(call, limits) }) }
    },
  }
}
