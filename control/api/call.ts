import type { ApiOperation } from '../../contract/api/routes.ts'
import type { Spender } from '../book/ledger/spendingCaps.ts'
import type { Actor } from '../runtime/activity/activity.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { UndoableTransaction } from '../runtime/db/undoable.ts'

/** Who sent a request. The account is empty for a session whose wallet is not linked to one. The operator sends none. */
export type Caller =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'session'; readonly sessionId: string; readonly address: string; readonly accountId: string }
  /** The operator's command line, for an account: it may what a session of the account may. */
  | { readonly kind: 'operator'; readonly accountId: string }
  | (Spender & {
      readonly kind: 'key'
      readonly accountId: string
      /** The key may do less than its account may, so it must not make another one do more. */
      readonly isRestricted: boolean
      /** The key may move coin: fund agents and pay from them. */
      readonly canTransfer: boolean
      /** The key is in the hands of a user of the account, who is told nothing about the account. */
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
  /** Not empty when the answer goes on; what the next call gets as `part`. */
  readonly nextPart?: string
  /** What a repetition with the same Idempotency-Key is answered, where `json` shows a secret that is shown once. */
  readonly repeatJson?: unknown
  /** Nothing is done yet that a repetition would do twice: the Idempotency-Key stays free for the request to be sent again. */
  readonly isProvisional?: boolean
  /** Runs once the change is committed, such as telling the proxies of it; what it throws is logged. */
  readonly afterCommit?: () => Promise<unknown>
}

/** Answers requests that change nothing. */
export interface ReadHandler {
  read(call: ApiCall): Promise<ApiResult>
}

/**
 * Answers requests that change something, in a transaction of its own: all of it is done, with its entry in the audit
 * trail and its answer under the Idempotency-Key, or nothing.
 */
export interface WriteHandler<Prepared> {
  /**
   * Refuses who may not make this request, where the route takes more than one credential of an account. It comes before
   * the first answer is given to a repeated request; `write` checks it again.
   */
  authorize?(call: ApiCall, client: Client): Promise<void>
  /** What takes long, before the transaction. */
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
