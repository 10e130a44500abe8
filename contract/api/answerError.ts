import { isJsonObject, type JsonObject } from '../std/jsonObject.ts'
import { statedNumber } from '../std/statedNumber.ts'

const ERROR_STATUS_MIN = 400
/** A word for a failure, such as `InternalError`; other codes are numbers, or say that all is well. */
const FAILURE = /^(?!(?:ok|success|succeeded|none)$)[a-z]/i

/**
 * The failure that an answer of status 200, or a chunk of a stream, reports: the value of its member `error`, or of the one in
 * `x_groq`, where that says something, else all of it where it has the form of an error in place of choices.
 * @returns null for none; also where `error` is false, empty, or an object without a value
 */
export function answerError(answer: JsonObject): unknown {
  const { error, x_groq: aside } = answer
  if (saysSomething(error)) return error
  if (isJsonObject(aside) && saysSomething(aside['error'])) return aside['error']
  const refused = baseResponse(answer['base_resp'])
  if (refused !== null) return refused
  return !Array.isArray(answer['choices']) && isError(answer) ? answer : null
}

/** A failure as MiniMax states it, https://platform.minimax.io/docs/api-reference/errorcode; null for none. */
function baseResponse(stated: unknown): object | null {
  if (!isJsonObject(stated)) return null
  const { status_code: code, status_msg: message } = stated
  return typeof code === 'number' && code !== 0 ? { code: `base_resp_${code}`, message } : null
}

/** The forms of vLLM and FastAPI, those of DashScope and Qianfan, and of gateways that put a status into the body. */
function isError({
  object,
  type,
  success,
  detail,
  code,
  message,
  error_code: ofQianfan,
  status,
  status_code: ofSnake,
  statusCode,
  errors,
}: JsonObject): boolean {
  if (object === 'error' || type === 'error' || status === 'error' || success === false || saysSomething(detail))
    return true
  if (Array.isArray(errors) && errors.some(saysSomething)) return true
  if ([code, ofQianfan].some((one) => typeof one === 'string' && FAILURE.test(one)) && saysSomething(message))
    return true
  return (
    statedNumber(ofQianfan) > 0 ||
    [code, status, ofSnake, statusCode].some((stated) => statedNumber(stated) >= ERROR_STATUS_MIN)
  )
}

/** Whether a value says something: neither false nor empty, nor an object without a value. */
export function saysSomething(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return isJsonObject(value) ? Object.values(value).some(saysSomething) : Boolean(value)
}
