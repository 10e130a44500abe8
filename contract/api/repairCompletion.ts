import { reportsIn } from '../money/usageReports.ts'
import { isJsonObject, type JsonObject } from '../std/jsonObject.ts'
import { statedNumber } from '../std/statedNumber.ts'
import { saysSomething } from './answerError.ts'
import { argumentsWithin, type CallPiece, callPieces, lacksArguments, madeCallId, saysNothing } from './callPiece.ts'
import { type Completion, choicesOf } from './completion.ts'
import { type FinishReason, givenReason, reasonWithCalls } from './finishReason.ts'
import { REASONING_NAMES, REASONING_PARTS, saidIn, TEXT_NAMES, TEXT_PARTS } from './saidText.ts'

/** Calls of other kinds have their own members, and stay as they are. */
const isFunction = (call: JsonObject): boolean =>
  isJsonObject(call['function']) || call['type'] === '' || (call['type'] ?? 'function') === 'function'

/**
 * Puts the choices of a chat completion into the form that the format's documentation has, in place: content is a text,
 * tool calls have ids and their arguments as text, the time is a whole number, the reason why the message ended is one of the known ones.
 * @param requestId for the ids of calls that have none
 * @param startedAtMs when the request arrived, for an answer that gives no time
 * @returns false when the answer is none: a choice reports a failure, or a call has no name
 */
export function repairCompletion(answer: Completion, requestId: string, startedAtMs: number): boolean {
  const given = choicesOf(answer)
  // The other choices are left out, but for their report.
  if (given.length > 1) answer['usage'] ??= reportsIn(answer).findLast(isJsonObject)
  const choices = joined(given)
  answer['choices'] = choices
  answer['created'] = secondsOf(answer['created'], startedAtMs)
  // It says nothing: see answerError.
  if (answer['error'] !== null) delete answer['error']
  for (const [place, choice] of choices.entries()) {
    const reason = givenReason(choice['finish_reason'])
    if (reason === 'error' || saysSomething(choice['error'])) return false
    const message = messageOf(choice)
    choice['index'] ??= place
    choice['message'] = message
    if (!repairMessage(message, requestId)) return false
    const calls = message['tool_calls']
    choice['finish_reason'] = reasonWithCalls(reason ?? 'stop', Array.isArray(calls) ? calls.length : 0)
  }
  return true
}

/**
 * Does the same for a text completion, whose provider may write the choices of a chat.
 * @returns false when a choice reports a failure
 */
export function repairTextCompletion(answer: Completion, startedAtMs: number): boolean {
  const choices = choicesOf(answer)
  if (choices.some(({ finish_reason: given, error }) => givenReason(given) === 'error' || saysSomething(error)))
    return false
  answer['created'] = secondsOf(answer['created'], startedAtMs)
  answer['choices'] = choices.map(({ text, message, delta, finish_reason: reason, ...rest }, place) => {
    const said = [message, delta].find(isJsonObject) ?? {}
    const written = typeof text === 'string' ? text : saidIn(said).text
    return { index: place, logprobs: null, ...rest, text: written, finish_reason: textReason(reason) }
  })
  return true
}

/** Choices beside the first that are looked at. */
const MORE_CHOICES_MAX = 3

// One choice is asked for. Some providers have its text and its calls in one each.
function joined(choices: JsonObject[]): JsonObject[] {
  const [first, ...others] = choices
  if (first === undefined || others.length === 0) return choices
  const message = { ...messageOf(first) }
  let said = saidIn(message)
  let hasCalls = callPieces(message).length > 0
  for (const other of others.slice(0, MORE_CHOICES_MAX)) {
    const more = messageOf(other)
    const { text, reasoning } = saidIn(more)
    const isNewText = said.text === '' && text !== ''
    const isNewCall = !hasCalls && callPieces(more).length > 0
    if (isNewText) message['content'] = text
    if (isNewCall) message['tool_calls'] = more['tool_calls']
    if (said.reasoning === '' && reasoning !== '') message['reasoning_content'] = reasoning
    if (isNewText || isNewCall) first['finish_reason'] = other['finish_reason']
    hasCalls ||= isNewCall
    said = { ...said, text: said.text || text, reasoning: said.reasoning || reasoning }
  }
  return [{ ...first, message }]
}

/** The time of an answer: typed clients demand a whole number. */
function secondsOf(created: unknown, startedAtMs: number): number {
  const seconds = Math.floor(statedNumber(created))
  return Number.isSafeInteger(seconds) ? seconds : Math.floor(startedAtMs / 1_000)
}

/** The reason why a text ended, in a word of the format. */
export function textReason(given: unknown): FinishReason {
  const reason = givenReason(given) ?? 'stop'
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop'
}

// Some providers answer with the member that a stream has, or with that of a text completion.
function messageOf(choice: JsonObject): JsonObject {
  const { message, delta, text } = choice
  if (isJsonObject(message)) return message
  delete choice['delta']
  delete choice['text']
  return isJsonObject(delta) ? delta : { role: 'assistant', content: typeof text === 'string' ? text : null }
}

function repairMessage(message: JsonObject, requestId: string): boolean {
  message['role'] ??= 'assistant'
  repairTexts(message)
  if (Array.isArray(message['tool_calls'])) {
    const given = message['tool_calls'].filter(isJsonObject)
    message['tool_calls'] = given
    if (!given.every(isFunction)) return true
  }
  const calls = callPieces(message).filter((call) => !saysNothing(call))
  if (calls.length === 0) {
    if (Array.isArray(message['tool_calls'])) message['tool_calls'] = []
    return true
  }
  delete message['function_call']
  const ids = new Set<string>()
  message['tool_calls'] = calls.map((call, number) => callOf(call, freshId(call, number, ids, requestId)))
  return calls.every(({ name }) => name !== '')
}

function repairTexts(message: JsonObject): void {
  const { content } = message
  const { text, reasoning, refusal } = saidIn(message)
  if (typeof content !== 'string' || content === '') {
    for (const name of TEXT_NAMES) delete message[name]
    message['content'] = text === '' && content !== '' ? parsedText(content) : text
  }
  if (
    reasoning !== '' &&
    typeof message['reasoning_content'] !== 'string' &&
    typeof message['reasoning'] !== 'string'
  ) {
    for (const name of REASONING_NAMES) if (name !== 'reasoning_details') delete message[name]
    message['reasoning_content'] = reasoning
  }
  if (refusal !== '') message['refusal'] = refusal
}

/** Members by which an object is a part of a message, rather than an answer in JSON that its server has parsed. */
const PART_MEMBERS = ['type', 'parts', 'role', ...TEXT_PARTS, ...REASONING_PARTS]

function parsedText(content: unknown): string | null {
  if (!isJsonObject(content) || Object.keys(content).length === 0) return null
  return PART_MEMBERS.some((name) => name in content) ? null : JSON.stringify(content)
}

function callOf(call: CallPiece, id: string): JsonObject {
  const text = lacksArguments(call.arguments) ? '{}' : (argumentsWithin(call.arguments) ?? call.arguments)
  return { ...call.extra, id, type: 'function', function: { name: call.name, arguments: text } }
}

function freshId({ id }: CallPiece, number: number, ids: Set<string>, requestId: string): string {
  const fresh = id === '' || ids.has(id) ? madeCallId(requestId, number) : id
  ids.add(fresh)
  return fresh
}
