import { type Completion, choicesOf } from '../../../contract/api/completion.ts'
import { givenReason } from '../../../contract/api/finishReason.ts'
import { saidIn } from '../../../contract/api/saidText.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { AnswerContext } from '../shared/codec.ts'
import { failureIn, readCompletion } from './parseCompletion.ts'

/** Reads a provider's answer as a text completion, as parseCompletion reads that of a chat. */
export function parseText(body: AnswerJson, context: AnswerContext): { answer: Completion } | Rejected {
  const read = readCompletion(body, context)
  if ('rejected' in read) return read
  const { answer } = read
  const choices = choicesOf(answer).map(textChoice)
  if (choices.some((choice) => givenReason(choice['finish_reason']) === 'error'))
    return { rejected: refusalOfError(failureIn(answer)) }
  return { answer: { ...answer, choices } }
}

/** A choice whose text may be in a message: that of a stream which was joined, or of a provider that answers with a chat. */
function textChoice({ message, ...choice }: JsonObject): JsonObject {
  if (typeof choice['text'] !== 'string' && isJsonObject(message)) choice['text'] = saidIn(message).text
  choice['finish_reason'] ??= 'stop'
  return choice
}
