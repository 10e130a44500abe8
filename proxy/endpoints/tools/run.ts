import { GatewayError } from '../../../contract/errors/errors.ts'
import { NO_USAGE } from '../../../contract/money/charge.ts'
import { CLIENT_GONE } from '../../../contract/money/receiptStatus.ts'
import { isJsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import type { ToolInput } from '../../../contract/tools/inputSchema.ts'
import { toolUnits } from '../../../contract/tools/rates.ts'
import { fillTemplate } from '../../../contract/tools/template.ts'
import type { Principal } from '../../access/principal.ts'
import type { Tool } from '../../catalog/tool.ts'
import { type CutMembers, scanBounds } from '../../json/answerScan.ts'
import { type Exchange, type HeaderList, JSON_TYPE } from '../../server/exchange.ts'
import { AnswerBody } from '../../upstream/answerBody.ts'
import type { Classify } from '../../upstream/attemptsOptions.ts'
import { HeaderBlock } from '../../upstream/transport/headerBlock.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { ReadResult, ToolReading } from '../largeBodies/largeTasks.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { Outcome } from '../run/outcome.ts'
import { type CallListener, NO_MEMORY, type ProviderCall } from '../run/providerCall.ts'
import { Run } from '../run/run.ts'
import type { RunListener } from '../run/runListener.ts'
import { sendParts } from '../run/sendParts.ts'
import type { RunServices } from '../run/services.ts'
import { readResult, reportedResults } from './answer.ts'
import { classifyToolRefusal, toolError } from './refusal.ts'

/** Any part of an answer may be a part of the result. */
const NO_CUTS: CutMembers = new Map()

/** A call of a tool with a valid input. */
export interface PricedToolCall {
  readonly tool: Tool
  readonly input: ToolInput
  /** The most results that it gives; 0 where they are not bounded. */
  readonly resultsMax: number
  readonly holdUnits: number
}

/**
 * One call of a priced tool. Its upstream bills for its answer: a failure before the answer costs nothing, and a failure
 * after it costs the amount that the upstream billed, without the margin.
 */
export class ToolRun implements RunListener, CallListener {
  readonly crashCode = 'tool_error'
  readonly classify: Classify = (status, body, error, retryAfterMs) => {
    this.refusedBody = body
    return classifyToolRefusal(status, error, retryAfterMs)
  }

  private readonly run: Run
  private readonly call: ProviderCall
  private readonly order: PricedToolCall
  private readonly body: AnswerBody
  private refusedBody = ''
  /** The output as JSON. */
  private answer: Uint8Array | undefined
  private failure: GatewayError | undefined

  constructor(exchange: Exchange, principal: Principal, order: PricedToolCall, services: RunServices) {
    const { tool, holdUnits } = order
    const metered: Metered = {
      endpoint: 'tools',
      model: tool,
      routes: [tool.route],
      wantUnits: holdUnits,
      leastUnits: holdUnits,
      streamed: false,
      // Tools have no prices of a private tier.
      tier: 'standard',
    }
    this.run = new Run(exchange, principal, metered, services, this)
    this.body = new AnswerBody(services.answers, scanBounds(services.limits, NO_CUTS))
    this.call = this.run.callFor(this)
    this.order = order
  }

  start(): void {
    this.run.start()
  }

  serve(): void {
    this.call.start()
  }

  onData(bytes: Buffer): void {
    if (this.body.add(bytes, this.run.services.limits.toolAnswerBytesMax) === null) return
    this.call.cancel()
    this.failAnswered()
  }

  onEnd(): void {
    const { services, principal } = this.run
    const { limits, large } = services
    const reading = this.reading()
    if (this.body.length <= limits.answerAtOnceBytesMax) {
      this.take(readResult(this.body.takeJson(), reading, limits))
      return
    }
    const read = this.body.gather().then((json) => {
      const elsewhere = large.of(json.bytes, 'provider', principal.accountId)
      return elsewhere?.run('tool', reading) ?? readResult(json, reading, limits)
    })
    // The upstream bills the call, but the gateway lacks the room to read its answer: nothing is charged.
    const onBusy = (): void => this.run.refuse(NO_MEMORY.error)
    this.call.later(read, (result) => this.take(result), onBusy)
  }

  onBroken(): void {
    this.failAnswered()
  }

  onClosed(): void {
    this.body.clear()
  }

  onRefused(refused: GatewayError): void {
    const error = toolError(refused)
    const billed = parseJsonObject(this.refusedBody)
    const { tool, resultsMax } = this.order
    const results = billed === null ? null : reportedResults(billed, tool.places, resultsMax)
    if (error.row === 'tool_upstream_error' && results !== null) {
      this.failAnswered(results, error)
      return
    }
    this.run.refuse(error)
  }

  // Providers bill an answer in one piece even when the client has disconnected, so it is read to its end.
  onGone(): void {
    if (!this.call.detach()) this.run.leave(this.billOfPart())
  }

  onCut(): void {
    this.run.cutUnanswered()
  }

  onSettled(outcome: Outcome, chargedUnits: number): void {
    const headers = ['x-cost-units', String(chargedUnits)]
    if (this.failure !== undefined) this.run.fail(this.failure, headers)
    else if (this.answer !== undefined) this.send(this.answer, `,"receipt":${outcome.receipt(chargedUnits)}`, headers)
  }

  onSettleDelayed(): void {
    if (this.failure !== undefined) this.run.fail(this.failure)
    else if (this.answer !== undefined) this.send(this.answer, '')
  }

  makeRequest(_route: unknown, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    const { tool, input } = this.order
    const { provider } = tool.route
    const { limits } = this.run.services
    const asked = fillTemplate(tool.request, input)
    const isGet = tool.method === 'GET'
    const headers = ['accept', 'application/json', 'accept-encoding', 'identity']
    if (!isGet) headers.push('content-type', 'application/json')
    if (provider.apiKey !== '') {
      if (tool.keyHeader === '') headers.push('authorization', `Bearer ${provider.apiKey}`)
      else headers.push(tool.keyHeader, provider.apiKey)
    }
    return {
      origin: provider.origin,
      host: provider.host,
      method: tool.method,
      fresh,
      headers: new HeaderBlock(headers),
      requestId: this.run.hold.requestId,
      path: `${provider.basePath}${tool.path}${isGet ? queryOf(asked) : ''}` || '/',
      body: isGet ? null : JSON.stringify(asked),
      connectTimeoutMs: limits.connectTimeoutMs,
      firstByteTimeoutMs: Math.min(limits.firstByteTimeoutMs, limits.toolTimeoutMs),
      idleTimeoutMs: limits.idleTimeoutMs,
      totalTimeoutMs: Math.min(totalTimeoutMs, limits.toolTimeoutMs),
    }
  }

  // With the head of an answer the upstream has taken the call, and bills it.
  onAnswer(headers: UpstreamHeaders): void {
    this.call.commit()
    if (headers.unreadable !== true) return
    this.call.cancel()
    this.failAnswered()
  }

  billOfPart(): Bill {
    return this.billAtCost(0)
  }

  private reading(): ToolReading {
    const { tool, resultsMax } = this.order
    return { places: tool.places, resultsMax, isPublicAlone: tool.publicUrl !== '' }
  }

  private take({ output, billed, leftPublic }: ReadResult): void {
    if (output === null) {
      const message = 'The page led to an address that is not on the public internet; what it billed is charged.'
      this.failAnswered(billed, new GatewayError('tool_upstream_error', leftPublic ? { message } : {}))
      return
    }
    const { tool } = this.order
    this.answer = output
    const bill: Bill = {
      units: toolUnits(tool.price, billed),
      usage: NO_USAGE,
      quantity: tool.unit === 'result' ? billed : 1,
      source: 'reported',
    }
    this.run.settle('ok', bill, this.call.detached ? CLIENT_GONE : null)
  }

  /** @param members of the answer, each with a comma before it */
  private send(output: Uint8Array, members: string, headers?: HeaderList): void {
    const { exchange, hold } = this.run
    const tool = JSON.stringify(this.order.tool.id)
    const head = `{"id":"${hold.requestId}","object":"tool.result","tool":${tool},"output":`
    sendParts(exchange, JSON_TYPE, [Buffer.from(head), output, Buffer.from(`${members}}`)], headers)
  }

  /** Ends a call that the upstream has answered, and billed, without a result. @param results that it billed */
  private failAnswered(results = 0, error = new GatewayError('tool_upstream_error')): void {
    this.failure = error
    this.run.settle('partial', this.billAtCost(results), error.code)
  }

  private billAtCost(results: number): Bill {
    const { tool } = this.order
    const quantity = tool.unit === 'result' ? results : 1
    return { units: toolUnits(tool.cost, results), usage: NO_USAGE, quantity, source: 'reported' }
  }
}

/** The members of a request as a query, with its question mark; '' for none. */
function queryOf(asked: unknown): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(isJsonObject(asked) ? asked : {})) {
    query.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
