import { usageJson } from '../../../contract/money/openaiUsage.ts'
import { errorEvent } from '../../sse/errorEvent.ts'
import type { StreamTail } from '../shared/relayStream.ts'
import type { ChunkScan } from './chunkScan.ts'
import type { ChunkIdentity } from './rewrite.ts'

/** The event that ends every stream of chunks. */
export const STREAM_END = 'data: [DONE]\n\n'
const ROLE = '"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]'

/** Writes the chunks of a stream that are the gateway's own. */
export class OwnChunks {
  /** The provider's time of the answer, as JSON; '' until it is known. */
  created = ''
  private readonly identity: ChunkIdentity
  private readonly keepNullUsage: boolean

  constructor(identity: ChunkIdentity, keepNullUsage: boolean) {
    this.identity = identity
    this.keepNullUsage = keepNullUsage
  }

  /** Takes the time of a chunk that was scanned. */
  note(bytes: Buffer, scan: ChunkScan): void {
    if (this.created !== '' || scan.createdStart < 0) return
    this.created = bytes.toString('latin1', scan.createdStart, scan.createdEnd)
  }

  /** A chunk with these members, as one event. */
  event(members: string): string {
    const { id, object, model } = this.identity
    return `data: {"id":${id},"object":"${object}","created":${this.created || 0},"model":${model},${members}}\n\n`
  }

  /** The same for members that have choices: without usage, which clients get that asked for it. */
  chunk(members: string): string {
    return this.event(this.keepNullUsage ? `${members},"usage":null` : members)
  }

  /**
   * The end of a stream.
   * @param ending the members of its last chunk with a choice; '' where there was one
   */
  tail({ usage, fault, receipt, startedAtMs }: StreamTail, ending: string): string {
    if (this.created === '') this.created = String(Math.floor(startedAtMs / 1000))
    const wanted = this.keepNullUsage ? this.event(`"choices":[],"usage":${usageJson(usage)}`) : ''
    const last = fault !== null ? errorEvent(fault) : (ending === '' ? '' : this.chunk(ending)) + wanted
    return last + (receipt === '' ? '' : `: receipt ${receipt}\n\n`) + STREAM_END
  }

  /** A chunk that says who speaks. */
  role(): string {
    return this.chunk(ROLE)
  }

  /** A chunk of a text completion with this text. */
  echo(text: string): string {
    return this.chunk(`"choices":[{"index":0,"text":${JSON.stringify(text)},"logprobs":null,"finish_reason":null}]`)
  }
}
