import type { Logger } from 'pino'
import { type ApiRoute, type ObjectSchema, pathOf } from '../../contract/api/route.ts'
import { type ApiOperation, type ApiRoutes, apiRoutes, isApiOperation } from '../../contract/api/routes.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import { readJsonBody } from '../../contract/std/jsonBody.ts'
import type { JsonObject } from '../../contract/std/jsonObject.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { notOffered, notUnderstood } from '../runtime/bus/rpcOperations.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { retryConflicts } from '../runtime/db/retryConflicts.ts'
import { type UndoableTransaction, withUndo } from '../runtime/db/undoable.ts'
import { logEvent } from '../runtime/logEvents.ts'
import type { ApiCall, ApiHandler, ApiHandlers, ApiResult, Caller, WriteHandler } from './call.ts'
import { actorOf, checkCaller, ownerOf } from './callers.ts'
import {
  type FirstAnswer,
  fingerprintOf,
  freeIdempotencyKey,
  keepFirstAnswer,
  type RepeatableRequest,
  takeIdempotencyKey,
} from './idempotency.ts'
import type { ApiLimits } from './limits.ts'
import { ApiRates } from './rates.ts'
import { checkBody, checkQuery } from './validate.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
/** A write that is not committed this long before its deadline is rolled back, so that every committed write is also answered. */
const ANSWER_MS = 200

export interface AccountApiOptions {
  readonly pool: Pool
  readonly log: Logger
  /** An operation of a product that this process does not run has none. */
  readonly handlers: Partial<ApiHandlers>
  /** Finds the caller by the hash of a credential; undefined for an unknown one. */
  readonly callers: Readonly<Record<'key' | 'session', (hash: string) => Promise<Caller | undefined>>>
  readonly limits: ApiLimits
}

/** Serves the account API: finds the caller and the account, checks the fields, runs the handler. */
export class AccountApi {
  private readonly options: AccountApiOptions
  private readonly rates: ApiRates
  private readonly routes: ApiRoutes

  constructor(options: AccountApiOptions) {
    this.options = options
    this.rates = new ApiRates(options.limits)
    this.routes = apiRoutes(options.limits)
  }

  /**
   * Answers a request.
   * @param deadlineMs when the caller stops waiting, by the clock of performance.now(); a change that is not made by then is
   *   rolled back
   * @throws GatewayError for the client, and every other error; nothing is changed then
   */
  async answer(request: sluice.ApiRequest, deadlineMs: number): Promise<sluice.ApiReply.$Properties> {
    const { operation } = request
    if (!isApiOperation(operation)) throw notUnderstood()
    const route = this.routes[operation]
    const call = await this.callOf(route, request)
    const handler = this.handlerOf(operation)
    if ('read' in handler) return replyOf(await handler.read(call))
    return replyOf(await this.write(handler, call, repeatableOf(route, call, request), deadlineMs))
  }

  /**
   * The answer to a public read without a query.
   * @throws GatewayError as an anonymous caller would get it
   */
  async answerPublic(operation: ApiOperation): Promise<sluice.ApiReply.$Properties> {
    const handler = this.handlerOf(operation)
    if (!('read' in handler)) throw new Error(`${operation} is not a read`)
    const query = checkQuery(this.routes[operation].query ?? NO_FIELDS, '')
    const none = { params: {}, body: {}, accountId: '', requestId: '', approvalId: '', part: '' }
    return replyOf(await handler.read({ ...none, query, caller: NOBODY, actor: actorOf(NOBODY) }))
  }

  private handlerOf(operation: ApiOperation): ApiHandler {
    const handler = this.options.handlers[operation]
    if (handler === undefined) throw notOffered()
    return handler
  }

  private async callOf(route: ApiRoute, request: sluice.ApiRequest): Promise<ApiCall> {
    const { clientAddress, requestId } = request
    this.rates.checkAddress(route.auth, clientAddress)
    const caller = await this.callerOf(request)
    const noteRefusal = () => this.rates.noteRefusal(clientAddress)
    const accountId = checkCaller(route.auth, caller, request.credential, noteRefusal)
    // A long answer counts as one request, regardless of its number of parts.
    if (request.part === '') this.rates.checkCaller(caller)
    return {
      params: request.params,
      query: checkQuery(route.query ?? NO_FIELDS, request.query),
      body:
        route.body === undefined ? {} : checkBody(route.body, readBody(route.body, request.body, this.options.limits)),
      caller: caller ?? NOBODY,
      accountId,
      actor: { ...actorOf(caller), clientAddress, requestId },
      requestId,
      approvalId: request.approvalId,
      part: request.part,
    }
  }

  private async callerOf({ credential, credentialHash }: sluice.ApiRequest): Promise<Caller | undefined> {
    const { CREDENTIAL_NONE, CREDENTIAL_KEY } = sluice.CredentialKind
    if (credential === CREDENTIAL_NONE) return NOBODY
    return this.options.callers[credential === CREDENTIAL_KEY ? 'key' : 'session'](credentialHash)
  }

  private async write(
    handler: WriteHandler<unknown>,
    call: ApiCall,
    repeatable: RepeatableRequest | undefined,
    deadlineMs: number,
  ): Promise<ApiResult> {
    const { pool, log } = this.options
    const prepared = await handler.prepare?.(call)
    const onFault = (error: unknown) =>
      logEvent(log, 'account_change_undo_failed', { err: error, requestId: call.requestId })
    const result = await retryConflicts(this.options.limits.apiWriteAttemptsMax, () =>
      withUndo(pool, onFault, async (transaction) => {
        // A statement that waits for a lock longer than the client waits for the answer would only occupy a connection.
        await transaction.client.query(`SET LOCAL statement_timeout = ${this.options.limits.apiTimeoutMs}`)
        const done = await writeOnce(handler, call, transaction, { repeatable, prepared, limits: this.options.limits })
        if (performance.now() > deadlineMs - ANSWER_MS) throw new GatewayError('admission_unavailable')
        return done
      }),
    )
    await result.afterCommit?.().catch((error: unknown) => {
      logEvent(log, 'account_announcement_failed', { err: error, requestId: call.requestId })
    })
    return result
  }
}

const NOBODY: Caller = { kind: 'nobody' }
const NO_FIELDS = { type: 'object', properties: {}, required: [], additionalProperties: false } as const

/** Runs a write, or replays the first answer when the same request was done before. */
async function writeOnce(
  handler: WriteHandler<unknown>,
  call: ApiCall,
  transaction: UndoableTransaction,
  { repeatable, prepared, limits }: { repeatable: RepeatableRequest | undefined; prepared: unknown; limits: ApiLimits },
): Promise<ApiResult> {
  const { client } = transaction
  if (repeatable === undefined) return handler.write(call, client, prepared, transaction)
  await handler.authorize?.(call, client)
  const first = await takeIdempotencyKey(client, repeatable, limits)
  if (first !== undefined) return repeated(first)
  const result = await handler.write(call, client, prepared, transaction)
  if (result.isProvisional === true) {
    await freeIdempotencyKey(client, repeatable)
    return result
  }
  const body = JSON.stringify(result.repeatJson ?? result.json)
  await keepFirstAnswer(client, repeatable, { status: result.status ?? 200, body })
  return result
}

/**
 * The scope of an Idempotency-Key is the account, for all of its credentials; each sub-key, which belongs to a user, has its
 * own.
 */
function repeatableOf(
  route: ApiRoute,
  { caller, params, body }: ApiCall,
  { idempotencyKey: key, query }: sluice.ApiRequest,
): RepeatableRequest | undefined {
  if (key === '' || caller.kind === 'nobody') return undefined
  const isUser = caller.kind === 'key' && caller.isSubKey
  const fingerprint = fingerprintOf(route.method, pathOf(route, params), query, body)
  return { caller: isUser ? caller.keyId : ownerOf(caller), key, fingerprint }
}

function repeated({ status, body }: FirstAnswer): ApiResult {
  return { status, text: body, headers: ['idempotent-replayed', 'true'] }
}

/** A body as the client sent it. @throws GatewayError body_too_large; 400 as of `readJsonBody` */
function readBody({ required }: ObjectSchema, body: Uint8Array, limits: ApiLimits): JsonObject {
  if (body.length === 0 && required.length === 0) return {}
  if (body.length > limits.apiBodyBytesMax) throw new GatewayError('body_too_large')
  return readJsonBody(Buffer.from(body.buffer, body.byteOffset, body.byteLength), limits.jsonDepthMax)
}

function replyOf(result: ApiResult): sluice.ApiReply.$Properties {
  return {
    status: result.status ?? 200,
    contentType: result.contentType ?? JSON_TYPE,
    headers: [...(result.headers ?? [])],
    body: Buffer.from(result.text ?? JSON.stringify(result.json)),
    nextPart: result.nextPart ?? '',
  }
}
