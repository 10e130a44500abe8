import { limits } from '../limits/limits.ts'
import { RPC_API_STREAM, RPC_BATCHES_STREAM, RPC_PAYMENTS_STREAM, RPC_READS_STREAM, RPC_STREAM } from './redisKeys.ts'

/** A stream of calls with its own bounds, so that no kind of call is held up behind another. */
export interface RpcStream {
  readonly stream: string
  /** Calls that one control works on at once. */
  readonly placesMax: number
  /** Calls that may wait in the stream. */
  readonly entriesMax: number
}

const half = Math.max(1, Math.floor(limits.rpcConcurrencyMax / 2))

/** What requests to models wait for. */
const CALLS: RpcStream = { stream: RPC_STREAM, placesMax: half, entriesMax: limits.rpcStreamEntriesMax }
/** What anybody may ask for in any number, even without a key. */
const READS: RpcStream = { stream: RPC_READS_STREAM, placesMax: half, entriesMax: limits.rpcStreamEntriesMax }
/** The account API: few, sometimes slow, and never worth a request to a model. */
const API: RpcStream = {
  stream: RPC_API_STREAM,
  placesMax: limits.apiConcurrencyMax,
  entriesMax: limits.apiStreamEntriesMax,
}

/** Payments: each waits for the chain. */
const PAYMENTS: RpcStream = {
  stream: RPC_PAYMENTS_STREAM,
  placesMax: limits.paymentsInFlightMax,
  entriesMax: limits.paymentsInFlightMax * 4,
}

/** Batch jobs on their way to control: few at a time, because each may be large. */
const BATCHES: RpcStream = {
  stream: RPC_BATCHES_STREAM,
  placesMax: limits.batchSubmitsMax,
  entriesMax: limits.batchSubmitsMax * 8,
}

export const RPC_STREAMS: readonly RpcStream[] = [CALLS, READS, API, PAYMENTS, BATCHES]

const BY_OPERATION: ReadonlyMap<string, RpcStream> = new Map([
  ...['get_receipt', 'list_sheets', 'get_sheet', 'payment_terms'].map((operation) => [operation, READS] as const),
  ['api', API],
  ['settle_payment', PAYMENTS],
  ['submit_batch', BATCHES],
])

/** The stream that a call goes through. */
export function rpcStreamOf(operation: string): RpcStream {
  return BY_OPERATION.get(operation) ?? CALLS
}
