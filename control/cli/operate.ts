import { type ApiOperation, apiRoutes } from '../../contract/api/routes.ts'
import { newId } from '../../contract/wire/ids.ts'
import { Debits } from '../admission/debits/debit.ts'
import type { ApiCall, ApiHandler } from '../api/call.ts'
import { actorOf } from '../api/callers.ts'
import { checkBody, checkQuery } from '../api/validate.ts'
import { agentHandlers } from '../products/agents/agentHandlers.ts'
import { approvalHandlers } from '../products/agents/approvalHandlers.ts'
import { providerHandlers } from '../products/marketplace/providers/providerHandlers.ts'
import { linkHandlers } from '../products/transfers/links/linkHandlers.ts'
import { referralHandlers } from '../products/transfers/referrals/referralHandlers.ts'
import { withUndo } from '../runtime/db/undoable.ts'
import { applyToAdmission } from './admission.ts'
import { type Arguments, flag } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'

/** A request of the operator for an account: the same as its owner could make through the account API. */
export interface OperatorRequest {
  readonly accountId: string
  /** The parts of the path. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, unknown>>
}

/**
 * Runs an operation of the account API for the operator, with the checks, the transaction and the entry in the audit trail
 * that it has there. The operator needs no key or session of the account.
 * @returns the body of the answer
 * @throws GatewayError as the API answers; CommandError when PostgreSQL or Redis cannot be reached
 */
export async function operate<Json>(
  context: CliContext,
  operation: ApiOperation,
  request: OperatorRequest,
): Promise<Json> {
  const pool = await context.pool()
  const handler = (await handlersOf(context))[operation]
  if (handler === undefined) throw new Error(`the command line does not serve ${operation}`)
  const call = callOf(context, operation, request)
  if ('read' in handler) return (await handler.read(call)).json as Json
  const prepared = await handler.prepare?.(call)
  const onFault = (error: unknown) => context.warn(`undoing a change failed; control sees to it (${error})`)
  const done = await withUndo(pool, onFault, (transaction) => {
    return handler.write(call, transaction.client, prepared, transaction)
  })
  await done.afterCommit?.().catch((error: unknown) => {
    context.warn(
      `the book is changed, but the proxies could not be notified; control notifies them when it can (${error})`,
    )
  })
  return done.json as Json
}

async function handlersOf(context: CliContext): Promise<Partial<Record<ApiOperation, ApiHandler>>> {
  const [pool, redis] = [await context.pool(), await context.redis()]
  const debits = new Debits(pool, redis, context.limits)
  const { limits } = context
  const parts = {
    pool,
    redis,
    debits,
    limits,
    applyToAdmission: (ids: readonly string[]) => applyToAdmission(context, ids),
  }
  const environment = { allowPrivateProviders: context.allowPrivateProviders }
  return {
    ...linkHandlers(parts),
    ...agentHandlers(parts),
    ...approvalHandlers(parts),
    ...referralHandlers(parts),
    ...providerHandlers({ pool, environment, limits }),
  }
}

function callOf(
  context: CliContext,
  operation: ApiOperation,
  { accountId, params, query, body }: OperatorRequest,
): ApiCall {
  const route = apiRoutes(context.limits)[operation]
  const caller = { kind: 'operator', accountId } as const
  return {
    params: params ?? {},
    query: route.query === undefined ? {} : checkQuery(route.query, new URLSearchParams(query).toString()),
    body: route.body === undefined ? {} : checkBody(route.body, body ?? {}),
    caller,
    accountId,
    actor: actorOf(caller),
    requestId: newId('req'),
    approvalId: '',
    part: '',
  }
}

/** Flags of commands that list. */
export const LIST_FLAGS = {
  limit: { value: 'N', help: 'at most this many entries (20)' },
  after: { value: 'ID', help: 'continue after this entry' },
}

/** The page that the flags name. */
export function pageOf(args: Arguments): Record<string, string> {
  const given = Object.keys(LIST_FLAGS).map((name) => [name, flag(args, name)] as const)
  return Object.fromEntries(given.filter((entry): entry is readonly [string, string] => entry[1] !== undefined))
}

export interface ListJson<Entry> {
  readonly data: readonly Entry[]
  readonly has_more: boolean
}

/** Prints a list: its JSON for programs, a table for people. */
export function printList<Entry extends { id?: string }>(
  context: CliContext,
  list: ListJson<Entry>,
  headings: readonly string[],
  cells: (entry: Entry) => readonly string[],
): undefined {
  context.print(list, table(headings, list.data.map(cells)))
  const last = list.data.at(-1)?.id
  if (list.has_more) context.warn(`there are more${last === undefined ? '' : `: --after ${last}`}`)
}
