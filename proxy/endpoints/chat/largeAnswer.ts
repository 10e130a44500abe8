import { errorOf } from '../../../contract/wire/refusal.ts'
import type { WholeAnswer } from '../../dialects/shared/codec.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { LargeBody } from '../largeBodies/largeBodies.ts'
import type { AnswerInput } from '../largeBodies/largeTasks.ts'

/** Has another thread read an answer, and write it for the client. @throws GatewayError when too many wait for it */
export async function readLarge(body: LargeBody, input: AnswerInput): Promise<WholeAnswer | Rejected> {
  const read = await body.run('answer', input)
  if ('rejected' in read) {
    const { error, ...rest } = read.rejected
    return { rejected: { ...rest, error: errorOf(error) } }
  }
  const { usage, outputBytes, written, head } = read
  return { usage, outputBytes, written: () => written ?? '', head: () => head }
}
