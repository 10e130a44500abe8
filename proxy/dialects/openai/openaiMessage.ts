import { callPieces } from '../../../contract/api/callPiece.ts'
import { outputBytes } from '../../../contract/api/completion.ts'
import { givenReason } from '../../../contract/api/finishReason.ts'
import { saidIn } from '../../../contract/api/saidText.ts'
import { usageOfAnswer } from '../../../contract/money/usageReports.ts'
import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import { citationsIn, pagesIn } from '../shared/citation.ts'
import type { AnswerContext } from '../shared/codec.ts'
import type { Message } from '../shared/message.ts'
import { boundsOf } from './openaiBounds.ts'
import { parseCompletion } from './parseCompletion.ts'

/** Reads a chat completion into a message for a client that speaks another format. */
export function readOpenaiMessage(body: AnswerJson, context: AnswerContext): Message | Rejected {
  const parsed = parseCompletion(body, context)
  if ('rejected' in parsed) return parsed
  const { answer } = parsed
  const [choice] = answer['choices'] as unknown[]
  const said = isJsonObject(choice) && isJsonObject(choice['message']) ? choice['message'] : {}
  const reason = isJsonObject(choice) ? givenReason(choice['finish_reason']) : null
  const { citationsMax: max } = context.limits
  const cited = citationsIn(said['annotations'], max)
  return {
    citations: [...cited, ...pagesIn(answer, cited, max)],
    toolCalls: callPieces(said),
    finish: reason === null || reason === 'error' ? 'stop' : reason,
    usage: usageOfAnswer(answer, boundsOf(context)),
    outputBytes: outputBytes(answer),
    ...saidIn(said),
  }
}
