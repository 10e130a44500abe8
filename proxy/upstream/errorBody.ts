import { answerError } from '../../contract/api/answerError.ts'
import { parseAnswerText } from '../json/jsonObject.ts'
import { AnswerBody } from './answerBody.ts'
import { refusalOfError } from './providerErrors.ts'
import type { Refusal } from './refusal.ts'

/** So short that its JSON is within all bounds of JSON that is parsed on the event loop. */
const BYTES_MAX = 65_536

/** JSON of status 200 where an answer of another kind is due, while it arrives: an error of the provider. */
export class ErrorBody {
  private readonly body = new AnswerBody()

  /** @returns whether more of it is read */
  add(bytes: Buffer): boolean {
    return this.body.add(bytes, BYTES_MAX) === null
  }

  /** Its meaning, once it is whole. */
  read(): Refusal {
    const answer = parseAnswerText(this.body.take().toString('utf8'))
    return refusalOfError(answer && answerError(answer))
  }
}
