import { isUtf8 } from 'node:buffer'
import { identityText } from '../../../contract/api/completion.ts'
import { type ReportedUsage, usageOfAnswer } from '../../../contract/money/usageReports.ts'
import type { AnswerContext, WholeAnswer } from '../shared/codec.ts'
import { boundsOf } from './openaiBounds.ts'
import { PlainScan } from './plainScan.ts'

/** A report with more bytes is none that most providers make: it is parsed with its answer. */
const USAGE_BYTES = 2_048
const scan = new PlainScan()

/**
 * Reads a chat completion that needs no repair without an object of it: its members go on as they came, but for those that
 * the gateway sets itself.
 * @returns undefined for any other answer, which has to be parsed
 */
export function readPlainAnswer(bytes: Buffer, context: AnswerContext): WholeAnswer | undefined {
  if (bytes.length > context.limits.answerParsedBytesMax || !scan.scan(bytes) || !isUtf8(bytes)) return undefined
  if (scan.usageEnd - scan.usageStart > USAGE_BYTES) return undefined
  const usage: unknown = JSON.parse(bytes.toString('latin1', scan.usageStart, scan.usageEnd))
  return new PlainAnswer(bytes, scan, usageOfAnswer({ usage }, boundsOf(context)), context)
}

class PlainAnswer implements WholeAnswer {
  readonly usage: ReportedUsage | null
  readonly outputBytes: number
  private readonly content: Buffer
  private readonly text: string

  constructor(bytes: Buffer, found: PlainScan, usage: ReportedUsage | null, { requestId, model }: AnswerContext) {
    this.usage = usage
    this.content = bytes.subarray(found.contentStart, found.contentEnd)
    this.outputBytes = found.hasEscapes ? Buffer.byteLength(this.written()) : this.content.length - 2
    let text = identityText({ requestId, modelId: model.id, object: 'chat.completion' })
    const { kept } = found
    for (let i = 1; i < kept.length; i += 2) text += `,${bytes.toString('utf8', kept[i - 1], kept[i])}`
    this.text = text
  }

  written(): string {
    return String(JSON.parse(this.content.toString('utf8')))
  }

  head(): string {
    return this.text
  }
}
