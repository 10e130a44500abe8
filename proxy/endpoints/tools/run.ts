import { GatewayError } from '../../../contract/errors/errors.ts'
import { NO_USAGE } from '../../../contract/money/charge.ts'
import { isJsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import type { ToolInput } from '../../../contract/tools/inputSchema.ts'
import { toolUnits } from '../../../contract/tools/rates.ts'
import { fillTemplate } from '../../../contract/tools/template.ts'
import type { Principal } from '../../access/principal.ts'
import type { Tool } from '../../catalog/tool.ts'
import { parseAnswer } from '../../json/jsonObject.ts'
import { type Exchange, JSON_TYPE } from '../../server/exchange.ts'
import { AnswerBody } from '../../upstream/answerBody.ts'
import type { Classify } from '../../upstream/attemptsOptions.ts'
import { HeaderBlock } from '../../upstream/transport/headerBlock.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { Outcome } from '../run/outcome.ts'
import type { CallListener, ProviderCall } from '../run/providerCall.ts'
import { Run, type RunListener } from '../run/run.ts'
import type { RunServices } from '../run/services.ts'
import { readAnswer, reportedResults } from './answer.ts'
import { mayBePublic } from './publicUrl.ts'
import { classifyToolRefusal, toolError } from './refusal.ts'

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
  readonly classify: Classify = (status, body, retryAfterMs) => {
    this.refusedBody = body
    return classifyToolRefusal(status, body, retryAfterMs)
  }

  private readonly run: Run
  private readonly call: ProviderCall
  private readonly order: PricedToolCall
  private readonly body: AnswerBody
  private refusedBody = ''
  /** JSON text without the brace at its end, for the receipt to be put in. */
  private answer: string | undefined
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
    this.body = new AnswerBody(services.answers)
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
    const { tool, resultsMax } = this.order
    const { services, hold } = this.run
    const parsed = parseAnswer(this.body.take(), services.limits)
    const answer = parsed === null ? null : readAnswer(parsed, tool.places, resultsMax)
    if (answer === null) {
      this.failAnswered(parsed === null ? 0 : (reportedResults(parsed, tool.places, resultsMax) ?? 0))
      return
    }
    // A page may have redirected to an address that the client could not have asked for.
    if (answer.finalUrl !== '' && tool.publicUrl !== '' && !mayBePublic(answer.finalUrl)) {
      const message = 'The page led to an address that is not on the public internet; what it billed is charged.'
      this.failAnswered(answer.billed, new GatewayError('tool_upstream_error', { message }))
      return
    }
    const output = JSON.stringify(answer.output)
    this.answer = `{"id":"${hold.requestId}","object":"tool.result","tool":${JSON.stringify(tool.id)},"output":${output}`
    const quantity = tool.unit === 'result' ? answer.billed : 1
    const units = toolUnits(tool.price, answer.billed)
    const bill: Bill = { units, usage: NO_USAGE, quantity, source: 'reported' }
    this.run.settle('ok', bill, this.call.detached ? 'client_gone' : null)
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
    else if (this.answer !== undefined) {
      const body = `${this.answer},"receipt":${outcome.receipt(chargedUnits)}}`
      this.run.exchange.answer(200, JSON_TYPE, body, headers)
    }
  }

  onSettleDelayed(): void {
    if (this.failure !== undefined) this.run.fail(this.failure)
    else if (this.answer !== undefined) this.run.exchange.answer(200, JSON_TYPE, `${this.answer}}`)
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
