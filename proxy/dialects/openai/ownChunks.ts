import { choicesOf } from '../../../contract/api/completion.ts'
import { givenReason } from '../../../contract/api/finishReason.ts'
import { textReason } from '../../../contract/api/repairCompletion.ts'
import { usageJson } from '../../../contract/money/openaiUsage.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { errorEvent } from '../../sse/errorEvent.ts'
import type { StreamTail } from '../shared/relayStream.ts'
import type { ChunkScan } from './chunkScan.ts'
import { type ChunkIdentity, isWholeNumber } from './rewrite.ts'

/** The event that ends every stream of chunks. */
export const STREAM_END = 'data: [DONE]\n\n'
const ROLE = '"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]'

/** Writes the chunks of a stream that are the gateway's own. */
export class OwnChunks {
  /** The provider's time of the answer, as JSON; '' until it is known. */
  private created = ''
  private readonly identity: ChunkIdentity
  private readonly keepNullUsage: boolean
  private echo: string

  /** @param echo text of the gateway's own that a text completion begins with */
  constructor(identity: ChunkIdentity, keepNullUsage: boolean, echo: string) {
    this.echo = echo
    this.identity = identity
    this.keepNullUsage = keepNullUsage
  }

  /** Takes the time of a chunk that was scanned. */
  note(bytes: Buffer, scan: ChunkScan): void {
    if (this.created !== '' || !isWholeNumber(bytes, scan.createdStart, scan.createdEnd)) return
    this.created = bytes.toString('latin1', scan.createdStart, scan.createdEnd)
  }

  /** A chunk with these members, as one event. */
  event(members: string): string {
    const { id, object, model, created } = this.identity
    return `data: {"id":${id},"object":"${object}","created":${this.created || created},"model":${model},${members}}\n\n`
  }

  /** The same for members that have choices: without usage, which clients get that asked for it. */
  chunk(members: string): string {
    return this.event(this.keepNullUsage ? `${members},"usage":null` : members)
  }

  /**
   * The end of a stream.
   * @param ending the members of its last chunk with a choice; '' where there was one
   */
  tail({ usage, fault, receipt }: StreamTail, ending: string): string {
    const wanted = this.keepNullUsage ? this.event(`"choices":[],"usage":${usageJson(usage)}`) : ''
    const last = fault !== null ? errorEvent(fault) : (ending === '' ? '' : this.chunk(ending)) + wanted
    return last + (receipt === '' ? '' : `: receipt ${receipt}\n\n`) + STREAM_END
  }

  /** A chunk that says who speaks. */
  role(): string {
    return this.chunk(ROLE)
  }

  /** The chunk with the echo the first time, then ''. */
  takeEcho(): string {
    const { echo } = this
    this.echo = ''
    if (echo === '') return ''
    return this.chunk(`"choices":[{"index":0,"text":${JSON.stringify(echo)},"logprobs":null,"finish_reason":null}]`)
  }
}

/** The choices of a chunk of a text completion, as a member with reasons in the words of the format. */
export function textChoices(chunk: JsonObject): string {
  const choices = choicesOf(chunk).map(({ finish_reason: reason, ...choice }) => {
    return { ...choice, finish_reason: givenReason(reason) && textReason(reason) }
  })
  return `"choices":${JSON.stringify(choices)}`
}
