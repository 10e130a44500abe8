import type { Answers } from '../../../contract/api/answers/shapes.ts'
import type { ObjectSchema } from '../../../contract/api/route.ts'

/** The document's description of a route that the proxy serves itself. */
export interface ProxyOperation {
  readonly summary: string
  readonly auth: 'none' | 'key' | 'paid'
  /** Where one row of the table serves several paths, or a path below a prefix. */
  readonly paths?: readonly string[]
  /** Operations of paths below these, which the same row of the table serves. */
  readonly below?: Readonly<Record<string, ProxyOperation>>
  readonly body?: ObjectSchema
  readonly bodyType?: 'application/json' | 'multipart/form-data'
  /** Of an answer that is not JSON. */
  readonly answerType?: string
  /** Its JSON answers. */
  readonly answers?: Answers
  /** The shape of each event of its streamed answer; absent where it does not stream. */
  readonly streams?: 'ChatCompletionChunk' | 'text'
}
