import type { ApiOperation } from '../../contract/api/routes.ts'
import type { Spender } from '../book/ledger/spendingCaps.ts'
import type { Actor } from '../runtime/activity/activity.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { UndoableTransaction } from '../runtime/db/undoable.ts'

/** The sender of a request. The account is empty for a session whose wallet is not linked to one. The operator sends none. */
export type Caller =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'session'; readonly sessionId: string; readonly address: string; readonly accountId: string }
  /** The operator's command line, for an account: it has the rights of a session of the account. */
  | { readonly kind: 'operator'; readonly accountId: string }
  | (Spender & {
      readonly kind: 'key'
      readonly accountId: string
      /** The key has fewer rights than its account, so it must not give another key more. */
      readonly isRestricted: boolean
      /** The key may move coin: fund agents and pay from them. */
      readonly canTransfer: boolean
      /** The key belongs to a user of the account, who must not see anything about the account. */
      readonly isSubKey: boolean
    })

/** One request to the account API, checked against the schemas of its route. */
export interface ApiCall {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  readonly caller: Caller
  /** The caller's account; empty when the route does not ask for one. */
  readonly accountId: string
  /** The caller as the audit trail names it. */
  readonly actor: Actor
  readonly requestId: string
  /** x-approval-id, or ''. */
  readonly approvalId: string
  /** Which part of a long answer; empty for the first. */
  readonly part: string
}

/** An answer: `json`, or `text` with its content type. */
export interface ApiResult {
  readonly status?: number
  readonly json?: unknown
  readonly text?: string
  readonly contentType?: string
  /** Name, value, name, value. */
  readonly headers?: readonly string[]
  /** Not empty when the answer has more parts; the next call gets it as `part`. */
  readonly nextPart?: string
  /** The answer to retries with the same Idempotency-Key, when `json` has a secret that is shown once. */
  readonly repeatJson?: unknown
  /** Nothing is done yet that a retry would duplicate: the Idempotency-Key stays free for the request to be sent again. */
  readonly isProvisional?: boolean
  /** Runs after the change is committed, for example to notify the proxies; its errors are logged. */
  readonly afterCommit?: () => Promise<unknown>
}

/** Answers requests that change nothing. */
export interface ReadHandler {
  read(call: ApiCall): Promise<ApiResult>
}

/**
 * Answers requests that change something, each in one transaction: all of it is done, with its entry in the audit
 * trail and its answer under the Idempotency-Key, or nothing.
 */
export interface WriteHandler<Prepared> {
  /**
   * Rejects callers without permission, on routes that take more than one credential of an account. It runs before the first
   * answer is replayed to a repeated request; `write` checks it again.
   */
  authorize?(call: ApiCall, client: Client): Promise<void>
  /** Slow work that runs before the transaction. */
  prepare?(call: ApiCall): Promise<Prepared>
  write(call: ApiCall, client: Client, prepared: Prepared, transaction: UndoableTransaction): Promise<ApiResult>
}

export type ApiHandler = ReadHandler | WriteHandler<unknown>

/** A handler for every operation of the table of routes. */
export type ApiHandlers = Readonly<Record<ApiOperation, ApiHandler>>

/** A write handler with a preparation, whose result keeps its type. */
export function preparedWrite<Prepared>(
  handler: Required<Pick<WriteHandler<Prepared>, 'prepare' | 'write'>>,
): WriteHandler<unknown> {
  return {
    prepare: (call) => handler.prepare(call),
    write: (call, client, prepared, transaction) => handler.write(call, client, prepared as Prepared, transaction),
  }
}
