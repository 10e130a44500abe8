import type { Exchange } from './exchange.ts'
import type { Behaviour } from './grammar.ts'
import type { TimerWheel } from './wheel.ts'

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  529: 'Overloaded',
}

const HTML = '<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Something went wrong</h1></body></html>'

/** Answers with an error status and a body in one of the forms that providers use. Must run inside a cork. */
export function answerError(
  exchange: Exchange,
  status: number,
  behaviour: Behaviour | undefined,
  message?: string,
): void {
  const { res } = exchange
  const form = behaviour?.words.err_body ?? (exchange.request?.kind === 'messages' ? 'anthropic' : 'openai')
  const retryAfter = behaviour?.integers.retry_after
  res.writeStatus(`${status} ${REASONS[status] ?? 'Error'}`)
  res.writeHeader('content-type', form === 'html' ? 'text/html' : 'application/json')
  const quirks = exchange.request?.kind === 'messages' ? undefined : behaviour?.quirks
  if (retryAfter !== undefined) {
    const headers = quirks?.retryHeaders?.(retryAfter, Date.now()) ?? { 'retry-after': String(retryAfter) }
    for (const [name, value] of Object.entries(headers)) res.writeHeader(name, value)
  }
  const said = message ?? `The mock provider was asked for status ${status}`
  const text =
    quirks?.error === undefined ? errorBody(form, status, said) : JSON.stringify(quirks.error(status, said, retryAfter))
  exchange.sent(status, 0, 0, null)
  exchange.end('error', withBilled(text, behaviour?.integers.error_billed))
}

function withBilled(text: string, billed: number | undefined): string {
  return billed === undefined ? text : `${text.slice(0, -1)},"usage":{"results":${billed}}}`
}

function errorBody(form: string, status: number, message: string): string {
  switch (form) {
    case 'html':
      return HTML
    case 'empty':
      return ''
    case 'string':
      return JSON.stringify({ error: message })
    case 'fastapi':
      return JSON.stringify({ detail: [{ loc: ['body', 'messages'], msg: message, type: 'value_error' }] })
    case 'vllm':
      return JSON.stringify({ object: 'error', message, type: 'BadRequestError', param: null, code: status })
    case 'anthropic':
      return JSON.stringify({ type: 'error', error: { type: anthropicType(status), message }, request_id: 'req_mock' })
    default:
      return JSON.stringify({ error: { message, type: errorType(status), param: null, code: errorCode(status) } })
  }
}

function errorType(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function anthropicType(status: number): string {
  return ANTHROPIC_TYPES[status] ?? 'api_error'
}

function errorCode(status: number): string | null {
  if (status === 429) return 'rate_limit_exceeded'
  return status === 404 ? 'model_not_found' : null
}

/** Status 200 with an unusable body: HTML, or truncated JSON. Must run inside a cork. */
function answerRubbish(exchange: Exchange, kind: 'html' | 'json'): void {
  exchange.res.writeStatus('200 OK').writeHeader('content-type', kind === 'html' ? 'text/html' : 'application/json')
  exchange.sent(200, 0, 0, null)
  exchange.end('error', kind === 'html' ? HTML : '{"id":"chatcmpl-broken","object":"chat.completion","choices":[{"ind')
}

/**
 * Fails a request in the way that its behaviour asks for. Must run inside a cork.
 * @param failures how often each model name has failed
 * @returns false when it is to be served
 */
export function answerFailure(
  exchange: Exchange,
  behaviour: Behaviour,
  wheel: TimerWheel,
  failures: Map<string, number>,
): boolean {
  const { error, fail_first: failFirst } = behaviour.integers
  const { refuses } = behaviour.quirks ?? {}
  const refused = refuses?.members.find((name) => exchange.request?.kind === 'chat' && name in exchange.request.body)
  if (refuses !== undefined && refused !== undefined) {
    answerError(exchange, refuses.status, behaviour, `Unsupported parameter: ${refused}`)
    return true
  }
  if (behaviour.reset) exchange.destroy()
  else if (failFirst !== undefined && countFailure(failures, behaviour.name, failFirst)) {
    answerError(exchange, 500, behaviour)
  } else if (error !== undefined) later(exchange, behaviour, wheel, () => answerError(exchange, error, behaviour))
  else if (behaviour.html200) answerRubbish(exchange, 'html')
  else if (behaviour.badjson) answerRubbish(exchange, 'json')
  else return false
  return true
}

/** @returns whether this request is one of the first `max`, which fail */
export function countFailure(failures: Map<string, number>, name: string, max: number): boolean {
  const failed = failures.get(name) ?? 0
  if (failed >= max) return false
  failures.set(name, failed + 1)
  return true
}

/** Runs `answer` immediately, or in its own cork after the time that the behaviour takes for headers. */
export function later(exchange: Exchange, behaviour: Behaviour, wheel: TimerWheel, answer: () => void): void {
  if (behaviour.slowHeadersMs === 0) return answer()
  const fire = () => {
    if (!exchange.ended) exchange.res.cork(answer)
  }
  wheel.add({ dueMs: wheel.nowMs() + behaviour.slowHeadersMs, fire })
}
