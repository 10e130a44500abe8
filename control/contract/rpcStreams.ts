import { RPC_READS_STREAM, RPC_STREAM } from './redisKeys.ts'

/** What anybody may ask for in any number, even without a key. */
const READS: ReadonlySet<string> = new Set(['get_receipt', 'list_receipts', 'list_sheets', 'get_sheet'])

/** The stream that a call goes through; reads have their own, so that no request is held up behind them. */
export function rpcStreamOf(operation: string): string {
  return READS.has(operation) ? RPC_READS_STREAM : RPC_STREAM
}
