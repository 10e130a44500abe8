import {
  BaseError,
  createPublicClient,
  ExecutionRevertedError,
  type Hash,
  HttpRequestError,
  http,
  type PublicClient,
  TimeoutError,
  type Transaction,
} from 'viem'
import { GatewayError } from '../../contract/errors/errors.ts'
import type { ChainLimits } from './limits.ts'

export type ChainClient = PublicClient

/** JSON-RPC of a chain over HTTP; concurrent calls are batched into one request. */
export function createChainClient(rpcUrl: string, limits: ChainLimits): ChainClient {
  return createPublicClient({
    transport: http(rpcUrl, {
      timeout: limits.chainTimeoutMs,
      retryCount: 0,
      batch: { batchSize: limits.chainBatchMax },
    }),
    cacheTime: 0,
  })
}

/** The node cannot be reached, or cannot answer; to be tried again. */
export function chainUnavailable(cause: unknown): GatewayError {
  return new GatewayError('chain_unavailable', { retryAfterSeconds: 2, cause })
}

/** Whether a call reached a node that ran it and the contract refused. */
export function isRevert(error: unknown): boolean {
  return error instanceof BaseError && error.walk((cause) => cause instanceof ExecutionRevertedError) !== null
}

/** Whether the node did not answer at all, rather than with an error. */
export function isUnanswered(error: unknown): boolean {
  return (
    error instanceof BaseError &&
    error.walk((cause) => cause instanceof HttpRequestError || cause instanceof TimeoutError) !== null
  )
}

/** Reads from the chain. @throws GatewayError chain_unavailable when the node does not answer */
export async function readChain<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw chainUnavailable(error)
  }
}

/** A transaction that the node has, in a block or waiting for one. @throws errors of the node */
export async function findTransaction(chain: ChainClient, hash: Hash): Promise<Transaction | undefined> {
  try {
    return await chain.getTransaction({ hash })
  } catch (error) {
    if (error instanceof Error && error.name === 'TransactionNotFoundError') return undefined
    throw error
  }
}
