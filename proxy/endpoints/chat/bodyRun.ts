import type { TokenUsage } from '../../../control/contract/charge.ts'
import { GatewayError } from '../../../control/contract/errors.ts'
import { nestsDeeper } from '../../relay/jsonDepth.ts'
import { readUsage, usageBounds, usageJson } from '../../relay/usage.ts'
import { refusalOfError } from '../../upstream/dialects/openaiErrors.ts'
import type { UpstreamHeaders } from '../../upstream/transport.ts'
import { isObject, type JsonObject } from '../parseJson.ts'
import { ChatRun } from './run.ts'
import { jsonBytes, textBytes } from './text.ts'

/** What the gateway itself says of an answer, whatever the provider said. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'object', 'model', 'usage', 'receipt'])
const JSON_TYPE = 'application/json; charset=utf-8'

/** A chat request that is answered in one piece. */
export class BodyRun extends ChatRun {
  private pieces: Buffer[] = []
  private bytes = 0
  private answer: JsonObject | undefined
  private detached = false

  onData(bytes: Buffer): void {
    if (this.ending) return
    this.noteFirstByte()
    this.bytes += bytes.length
    if (this.bytes > this.services.limits.responseBodyBytesMax) {
      this.attempts?.reject(refusalOfError(null))
      return
    }
    this.pieces.push(Buffer.from(bytes))
  }

  onEnd(): void {
    if (this.ending) return
    const answer = parseAnswer(this.pieces, this.services.limits.jsonDepthMax)
    this.pieces = []
    if (answer === null || isError(answer)) {
      this.attempts?.reject(refusalOfError(answer?.['error']))
      return
    }
    this.attempts?.commit()
    this.answer = answer
    this.outputFrames = 1
    this.outputBytes = outputBytes(answer)
    const errorCode = this.detached ? 'client_gone' : null
    this.end({ status: 'ok', usage: this.reportedUsage(answer), errorCode })
  }

  onBroken(): void {
    // The commit is the last thing that happens to an answer in one piece, so nothing can break after it.
  }

  // Providers bill an answer in one piece whether or not anybody waits for it, so it is read to its end.
  onGone(): void {
    if (this.ending) return
    const { counters } = this.services.metrics
    // Before the hold is answered there is nothing to end yet; its answer finds the client gone.
    if (this.attempts === undefined) return
    if (counters.detached < this.services.limits.detachedRequestsMax) {
      counters.detached++
      this.detached = true
    } else {
      this.attempts.cancel()
      this.end({ status: 'partial', usage: null, errorCode: 'client_gone' })
    }
  }

  cut(): void {
    if (this.ending) return
    this.attempts?.cancel()
    const fault = new GatewayError('gateway_restarting')
    if (this.attempts === undefined) this.ending = true
    else this.end({ status: 'cut', usage: null, errorCode: fault.code })
    this.failWith(fault)
  }

  onSettled(chargedUnits: number): void {
    this.close()
    if (this.answer === undefined) return
    const receipt = `,"receipt":${this.receipt(chargedUnits)}`
    this.exchange.answer(200, JSON_TYPE, this.body(this.answer, receipt), ['x-cost-units', String(chargedUnits)])
  }

  onSettleDelayed(): void {
    this.close()
    if (this.answer !== undefined) this.exchange.answer(200, JSON_TYPE, this.body(this.answer, ''))
  }

  protected override close(): void {
    if (this.detached) this.services.metrics.counters.detached--
    this.detached = false
    super.close()
  }

  override onAttempt(): void {
    super.onAttempt()
    this.pieces = []
    this.bytes = 0
  }

  protected answerBegins(headers: UpstreamHeaders): void {
    // The request asked for plain bytes; a provider that compresses all the same cannot be read.
    const encoding = headers.get('content-encoding')?.toLowerCase() ?? 'identity'
    if (encoding !== 'identity') this.attempts?.reject(refusalOfError(null))
  }

  private reportedUsage(answer: JsonObject): TokenUsage | null {
    const { model } = this.admitted
    return readUsage(answer['usage'], usageBounds(model.context, model.maxOutput))
  }

  private body(answer: JsonObject, receipt: string): string {
    let text = `{"id":"${this.requestId}","object":"chat.completion","model":${JSON.stringify(this.admitted.model.id)}`
    for (const name in answer) {
      if (!OWN_MEMBERS.has(name)) text += `,${JSON.stringify(name)}:${JSON.stringify(answer[name])}`
    }
    return `${text},"usage":${usageJson(this.billedUsage)}${receipt}}`
  }
}

function outputBytes(answer: JsonObject): number {
  let bytes = 0
  for (const choice of Array.isArray(answer['choices']) ? answer['choices'] : []) {
    if (!isObject(choice) || !isObject(choice['message'])) continue
    const { message } = choice
    bytes += textBytes(message['content']) + textBytes(message['reasoning_content']) + jsonBytes(message['tool_calls'])
  }
  return bytes
}

function parseAnswer(pieces: readonly Buffer[], depthMax: number): JsonObject | null {
  const body = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
  if (nestsDeeper(body, depthMax)) return null
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'))
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

function isError(answer: JsonObject): boolean {
  if (answer['error'] !== undefined && answer['error'] !== null) return true
  return !Array.isArray(answer['choices']) || answer['choices'].length === 0
}
