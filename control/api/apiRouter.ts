import type { Logger } from 'pino'
import { type ApiMatch, type ApiRoutes, apiRoutes, matchApi } from '../../contract/api/routes.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Limits } from '../limits.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { type Undoable, withUndo } from '../runtime/db/undoable.ts'
import type { ApiCall, ApiHandlers, ApiResult, Caller, WriteHandler } from './call.ts'
import { actorOf, checkCaller } from './callers.ts'
import {
  type FirstAnswer,
  fingerprintOf,
  freeIdempotencyKey,
  keepFirstAnswer,
  type RepeatableRequest,
  takeIdempotencyKey,
} from './idempotency.ts'
import { ApiRates } from './rates.ts'
import { checkBody, checkQuery } from './validate.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
/** What is not committed this long before its time is given up, so that what is done is also answered. */
const ANSWER_MS = 200

export interface ApiRouterOptions {
  readonly pool: Pool
  readonly log: Logger
  readonly handlers: ApiHandlers
  /** Who has this credential; undefined when nobody has. */
  readonly callerOf: (kind: sluice.CredentialKind, hash: string) => Promise<Caller | undefined>
  readonly limits: Limits
}

/** Serves the account API: finds the route, the caller and the account, checks the fields, runs the handler. */
export class ApiRouter {
  private readonly options: ApiRouterOptions
  private readonly rates: ApiRates
  private readonly routes: ApiRoutes

  constructor(options: ApiRouterOptions) {
    this.options = options
    this.rates = new ApiRates(options.limits)
    this.routes = apiRoutes(options.limits)
  }

  /**
   * Answers a request; errors that the client may see are answers, too.
   * @param deadlineMs until when the answer is waited for, by the clock of performance.now(); a change that is not made
   *   before is not made
   * @throws every other error; nothing is changed then
   */
  async answer(request: sluice.ApiRequest, deadlineMs: number): Promise<sluice.ApiReply.$Properties> {
    try {
      const match = matchApi(request.method, request.path)
      if (match === undefined) throw new GatewayError('not_found')
      const call = await this.callOf(match, request)
      const handler = this.options.handlers[match.operation]
      const result = 'read' in handler ? await handler.read(call) : await this.write(handler, call, request, deadlineMs)
      return replyOf(result)
    } catch (error) {
      if (error instanceof GatewayError) return refusalOf(error)
      throw error
    }
  }

  private async callOf({ operation, params }: ApiMatch, request: sluice.ApiRequest): Promise<ApiCall> {
    const route = this.routes[operation]
    const { clientAddress, requestId } = request
    this.rates.checkAddress(route.auth, clientAddress)
    const caller = await this.callerOf(request)
    const noteRefusal = () => this.rates.noteRefusal(clientAddress)
    const accountId = checkCaller(route.auth, caller, request.credential, noteRefusal)
    // A long answer is one request, however many parts it comes in.
    if (request.part === '') this.rates.checkCaller(caller)
    return {
      params,
      query: checkQuery(route.query ?? NO_FIELDS, request.query),
      body: route.body === undefined ? {} : checkBody(route.body, parseBody(request.body, this.options.limits)),
      caller: caller ?? NOBODY,
      accountId,
      actor: { ...actorOf(caller), clientAddress, requestId },
      requestId,
      approvalId: request.approvalId,
      part: request.part,
    }
  }

  private async callerOf({ credential, credentialHash }: sluice.ApiRequest): Promise<Caller | undefined> {
    if (credential === sluice.CredentialKind.CREDENTIAL_NONE) return NOBODY
    return this.options.callerOf(credential, credentialHash)
  }

  private async write(
    handler: WriteHandler<unknown>,
    call: ApiCall,
    request: sluice.ApiRequest,
    deadlineMs: number,
  ): Promise<ApiResult> {
    const { pool, log } = this.options
    const prepared = await handler.prepare?.(call)
    const onFault = (error: unknown) => log.warn({ err: error, requestId: call.requestId }, 'undoing a change failed')
    const result = await withUndo(pool, onFault, async (transaction) => {
      // Who waits for a lock longer than anybody waits for the answer only takes a place from others.
      await transaction.client.query(`SET LOCAL statement_timeout = ${this.options.limits.apiTimeoutMs}`)
      const done = await writeOnce(handler, call, transaction, request, prepared, this.options.limits)
      if (performance.now() > deadlineMs - ANSWER_MS) throw new GatewayError('admission_unavailable')
      return done
    })
    await result.afterCommit?.().catch((error: unknown) => {
      log.warn({ err: error, requestId: call.requestId }, 'a change was made, but could not be told to the proxies')
    })
    return result
  }
}

const NOBODY: Caller = { kind: 'nobody' }
const NO_FIELDS = { type: 'object', properties: {}, required: [], additionalProperties: false } as const

/** Runs a write, unless the same request was done before: then its first answer is given again. */
async function writeOnce(
  handler: WriteHandler<unknown>,
  call: ApiCall,
  transaction: Undoable,
  request: sluice.ApiRequest,
  prepared: unknown,
  limits: Limits,
): Promise<ApiResult> {
  const { client } = transaction
  const repeatable = repeatableOf(call, request)
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

/** An Idempotency-Key belongs to the account, whatever its credential; sub-keys, which are their users', have their own. */
function repeatableOf({ caller, body }: ApiCall, request: sluice.ApiRequest): RepeatableRequest | undefined {
  if (request.idempotencyKey === '' || caller.kind === 'nobody') return undefined
  const isUser = caller.kind === 'key' && caller.isSubKey
  const name = isUser ? caller.keyId : caller.accountId || (caller.kind === 'session' ? caller.address : '')
  const fingerprint = fingerprintOf(request.method, request.path, request.query, body)
  return { caller: name, key: request.idempotencyKey, fingerprint }
}

function repeated({ status, body }: FirstAnswer): ApiResult {
  return { status, text: body, headers: ['idempotent-replayed', 'true'] }
}

/** The proxy has read the body as a JSON object within its bounds. */
function parseBody(body: Uint8Array, limits: Limits): Readonly<Record<string, unknown>> {
  if (body.length === 0) return {}
  if (body.length > limits.apiBodyBytesMax) throw new GatewayError('body_too_large')
  return JSON.parse(Buffer.from(body).toString('utf8')) as Record<string, unknown>
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

function refusalOf(error: GatewayError): sluice.ApiReply.$Properties {
  return {
    status: error.status,
    errorCode: error.row,
    errorType: error.type,
    errorMessage: error.message,
    errorParam: error.param ?? '',
    retryAfterSeconds: error.retryAfterSeconds ?? 0,
  }
}
