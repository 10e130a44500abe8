import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven, readBoolean, readModels, readNumber, readPositiveInteger, refuseBatch } from '../../json/fields.ts'
import { readTagging } from '../../json/tagging.ts'
import type { DialectLimits } from '../limits.ts'
import type { ChatRequest } from '../shared/chatRequest.ts'
import { readPreferences } from '../shared/preferences.ts'
import { asidesOf } from '../shared/requestForm.ts'
import { readText } from '../shared/text.ts'
import { readIncludeUsage } from './chatRequest.ts'
import { addOptions, TEXT_OPTIONS } from './options.ts'

/** As many logprobs a token as OpenAI gives. */
const LOGPROBS_MAX = 5
const KNOWN: ReadonlySet<string> = new Set([
  ...'model models prompt suffix echo stream stream_options n best_of max_tokens max_completion_tokens provider batch'.split(
    ' ',
  ),
  ...TEXT_OPTIONS.keys(),
])

/**
 * Validates the body of POST /v1/completions. A member that is null counts as absent. `echo` of the result is the start of
 * the answer: the prompt, when the client asks for an echo.
 * @throws GatewayError 400 with the field at fault
 */
export function readTextRequest(body: JsonObject, limits: DialectLimits): ChatRequest {
  const model = readModels(body, limits)
  refuseBatch(model)
  for (const name of ['n', 'best_of']) {
    if (isGiven(body[name]) && body[name] !== 1) throw invalidRequest(`${name} must be 1.`, name)
  }
  readNumber(body, 'temperature', 0, 2)
  const maxTokensName = isGiven(body['max_completion_tokens']) ? 'max_completion_tokens' : 'max_tokens'
  const size: PromptSize = { textBytes: 0, messages: 1, images: 0 }
  const prompt = readPrompt(body['prompt'], size)
  const forward: JsonObject = { prompt }
  addOptions(body, forward, TEXT_OPTIONS, size, limits)
  if (isGiven(body['suffix'])) forward['suffix'] = readText(body['suffix'], 'suffix', size)
  return {
    modelId: model.modelId,
    models: model.models,
    batch: false,
    cheapest: model.cheapest,
    stream: readBoolean(body, 'stream'),
    includeUsage: readIncludeUsage(body['stream_options']),
    maxTokens: readPositiveInteger(body, maxTokensName),
    maxTokensName,
    maxTokensBeside: maxTokensName === 'max_tokens' ? null : readPositiveInteger(body, 'max_tokens'),
    promptParam: 'prompt',
    prompt: size,
    preferences: readPreferences(body['provider']),
    forward,
    echo: readEcho(body) ? checkEcho(prompt, limits) : '',
    ...asidesOf(body, KNOWN, limits.droppedNamesMax, []),
    named: Object.keys(forward).slice(1),
    ...readTagging(body, limits),
  }
}

function checkEcho(prompt: string, { echoBytesMax }: DialectLimits): string {
  if (prompt.length <= echoBytesMax) return prompt
  throw invalidRequest(`A prompt that is echoed may have at most ${echoBytesMax} characters; leave echo out.`, 'echo')
}

function readPrompt(value: unknown, size: PromptSize): string {
  const prompt: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value
  if (typeof prompt !== 'string') throw invalidRequest('prompt must be a string or an array of one string.', 'prompt')
  return readText(prompt, 'prompt', size)
}

// The echo is put before the answer here, so providers are never asked for it: it costs nothing, and the logprobs of a
// prompt, for which they would score it again, are refused.
function readEcho(body: JsonObject): boolean {
  const { logprobs } = body
  const echo = readBoolean(body, 'echo')
  if (!isGiven(logprobs)) return echo
  if (typeof logprobs !== 'number' || !Number.isInteger(logprobs) || logprobs < 0 || logprobs > LOGPROBS_MAX) {
    throw invalidRequest(`logprobs must be a whole number from 0 to ${LOGPROBS_MAX}.`, 'logprobs')
  }
  if (echo) throw invalidRequest('echo and logprobs cannot be sent together.', 'echo')
  return echo
}
