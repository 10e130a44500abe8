import type { ContractLimits } from '../limits/limits.ts'
import { RPC_API_STREAM, RPC_BATCHES_STREAM, RPC_PAYMENTS_STREAM, RPC_READS_STREAM, RPC_STREAM } from './redisKeys.ts'

/** A stream of calls with its own bounds, so that no kind of call delays another. */
export interface RpcStream {
  readonly stream: string
  /** Calls that one control works on concurrently. */
  readonly placesMax: number
  /** Calls that may wait in the stream. */
  readonly entriesMax: number
}

export type RpcLaneName = 'calls' | 'reads' | 'api' | 'payments' | 'batches'

/** The streams of all lanes, with the bounds that the limits give them. */
export function rpcLanes(limits: ContractLimits): Readonly<Record<RpcLaneName, RpcStream>> {
  const half = Math.max(1, Math.floor(limits.rpcConcurrencyMax / 2))
  return {
    /** Calls that requests to models wait for. */
    calls: { stream: RPC_STREAM, placesMax: half, entriesMax: limits.rpcStreamEntriesMax },
    /** Reads that anybody may make in any number, even without a key. */
    reads: { stream: RPC_READS_STREAM, placesMax: half, entriesMax: limits.rpcStreamEntriesMax },
    /** The account API: few, sometimes slow, and never worth a request to a model. */
    api: { stream: RPC_API_STREAM, placesMax: limits.apiConcurrencyMax, entriesMax: limits.apiStreamEntriesMax },
    /** Payments: each waits for the chain. */
    payments: {
      stream: RPC_PAYMENTS_STREAM,
      placesMax: limits.paymentsInFlightMax,
      entriesMax: limits.paymentsInFlightMax * 4,
    },
    /** Batch jobs on their way to control: few at a time, because each may be large. */
    batches: {
      stream: RPC_BATCHES_STREAM,
      placesMax: limits.batchSubmitsMax,
      entriesMax: limits.batchSubmitsMax * 8,
    },
  }
}
