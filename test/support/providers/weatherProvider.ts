import type { ServerResponse } from 'node:http'
import { beginEvents, chunk, event, ScriptedProvider } from './scriptedProvider.ts'

/** What every answer of the weather provider costs it. */
export const WEATHER_USAGE = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 }

interface Turn {
  readonly reasoning?: string
  readonly text?: string
  readonly calls?: readonly { id: string; city: string }[]
}

/**
 * A provider of the OpenAI dialect that asks for the weather and, once the conversation ends with it, tells it:
 * `weather` at once, `chatty` with words and thoughts before the call, `two` in two calls at a time.
 */
export function startWeatherProvider(): Promise<ScriptedProvider> {
  const play = (first: Turn) => (response: ServerResponse, body: Record<string, unknown>) => {
    const { content, role } = (body['messages'] as { role: string; content: string }[]).at(-1) ?? {}
    const turn = role === 'tool' ? { text: `It is ${content}.` } : first
    if (body['stream'] === true) streamTurn(response, turn)
    else answerTurn(response, turn)
  }
  const calls = [{ id: 'call_1', city: 'Paris' }]
  return ScriptedProvider.start({
    weather: play({ calls }),
    chatty: play({ reasoning: 'Hm.', text: 'Let me see.', calls }),
    two: play({ calls: [...calls, { id: 'call_2', city: 'Rome' }] }),
  })
}

function answerTurn(response: ServerResponse, { reasoning, text, calls }: Turn): void {
  const message = {
    role: 'assistant',
    content: text ?? null,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls && { tool_calls: calls.map(callOf) }),
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: calls ? 'tool_calls' : 'stop' }
  const answer = {
    id: 'up',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [choice],
    usage: WEATHER_USAGE,
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}

function streamTurn(response: ServerResponse, { reasoning, text, calls }: Turn): void {
  beginEvents(response)
  event(response, chunk({ role: 'assistant', content: '' }))
  if (reasoning !== undefined) event(response, chunk({ reasoning_content: reasoning }))
  for (const word of text?.split(/(?= )/) ?? []) event(response, chunk({ content: word }))
  for (const [index, call] of calls?.entries() ?? []) {
    const { function: asked, ...rest } = callOf(call)
    event(response, chunk({ tool_calls: [{ index, ...rest, function: { name: asked.name, arguments: '' } }] }))
    for (const piece of asked.arguments.split(/(?=")/)) {
      event(response, chunk({ tool_calls: [{ index, function: { arguments: piece } }] }))
    }
  }
  event(response, chunk({}, calls ? 'tool_calls' : 'stop'))
  event(response, {
    id: 'up',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [],
    usage: WEATHER_USAGE,
  })
  response.end('data: [DONE]\n\n')
}

function callOf({ id, city }: { id: string; city: string }) {
  return { id, type: 'function', function: { name: 'get_weather', arguments: JSON.stringify({ city }) } }
}
