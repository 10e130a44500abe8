import type { Tool } from '@modelcontextprotocol/server'

const TEXT = { type: 'string' } as const
const NUMBER = { type: 'number' } as const
const COUNT = { type: 'integer', minimum: 1 } as const
const OBJECT = { type: 'object' } as const
const AMOUNT = {
  type: 'object',
  description: 'decimal strings; units are 1e-9 USD',
  properties: { units: TEXT, usd: TEXT, coin: TEXT },
  required: ['units', 'usd', 'coin'],
} as const
const READ_ONLY = { readOnlyHint: true, openWorldHint: false } as const

type OutputSchema = NonNullable<Tool['outputSchema']>

/**
 * A result has all of its members, or it is an error of the gateway; a call that has to be paid returns the payment
 * required.
 */
function output(properties: Record<string, object>, required: string[], maybePaid = false): OutputSchema {
  const asks = maybePaid ? [{ required: ['x402Version', 'accepts'] }] : []
  return { type: 'object', properties, anyOf: [{ required }, { required: ['error'] }, ...asks] }
}

/** The documented arguments of `chat`; the other members of POST /v1/chat/completions are accepted too, except `stream`. */
const CHAT_INPUT: Tool['inputSchema'] = {
  type: 'object',
  properties: {
    model: { type: 'string', description: 'a model id from list_models' },
    messages: {
      type: 'array',
      minItems: 1,
      description: 'messages of the OpenAI chat format',
      items: { type: 'object', properties: { role: TEXT }, required: ['role'] },
    },
    max_tokens: { ...COUNT, description: 'bounds the output, and with it the hold' },
    temperature: { ...NUMBER, minimum: 0, maximum: 2 },
    tools: { type: 'array', items: OBJECT },
    response_format: OBJECT,
    models: { type: 'array', items: TEXT, description: 'models that serve where the first cannot, in this order' },
    provider: { ...OBJECT, description: 'routing wishes: allow_retention, max_price' },
  },
  required: ['model', 'messages'],
}

/** The tools of POST /mcp. */
export const MCP_TOOLS: readonly Tool[] = [
  {
    name: 'list_models',
    title: 'List models',
    description: 'Lists the models that serve now, with their prices in USD. Needs no credential.',
    inputSchema: {
      type: 'object',
      properties: { modality: { type: 'string', description: 'only models of this modality, such as chat' } },
      additionalProperties: false,
    },
    outputSchema: output(
      {
        price_sheet: TEXT,
        rate_lock: OBJECT,
        models: {
          type: 'array',
          items: {
            type: 'object',
            properties: { id: TEXT, name: TEXT, owned_by: TEXT, modality: TEXT, unit: TEXT, price: OBJECT },
            required: ['id', 'modality', 'unit', 'price'],
          },
        },
      },
      ['price_sheet', 'models'],
    ),
    annotations: READ_ONLY,
  },
  {
    name: 'quote',
    title: 'Quote a chat request',
    description:
      'Says what a chat call with the same arguments would cost at most, and how it can be paid without a key. Runs ' +
      'and charges nothing.',
    inputSchema: CHAT_INPUT,
    outputSchema: output(
      {
        object: TEXT,
        model: TEXT,
        price_sheet: TEXT,
        hold: AMOUNT,
        price: OBJECT,
        prompt_tokens_max: { type: 'integer' },
        max_tokens: { type: 'integer' },
        payment: OBJECT,
      },
      ['object', 'model', 'price_sheet', 'hold', 'prompt_tokens_max', 'max_tokens'],
    ),
    annotations: READ_ONLY,
  },
  {
    name: 'chat',
    title: 'Chat completion',
    description:
      'Runs a chat completion and charges what it used. Send an API key as Authorization: Bearer, or pay the call by ' +
      'x402 or MPP in _meta. The result carries the receipt.',
    inputSchema: CHAT_INPUT,
    outputSchema: output(
      { id: TEXT, object: TEXT, model: TEXT, choices: { type: 'array' }, receipt: OBJECT },
      ['id', 'object'],
      true,
    ),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  },
  {
    name: 'balance',
    title: 'Balance',
    description: "The balance of the API key's account, or of the agent whose key it is. Needs a key.",
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: output({ object: TEXT, balance: OBJECT, available: { type: ['object', 'null'] } }, [
      'object',
      'balance',
    ]),
    annotations: READ_ONLY,
  },
  {
    name: 'receipt',
    title: 'Receipt',
    description:
      'The receipt of a request with its place in the usage log. With a key, of requests that the key has made; without ' +
      'one, the public receipt of any request.',
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'string', description: 'a request id, req_...' } },
      required: ['id'],
      additionalProperties: false,
    },
    outputSchema: output({ object: TEXT, request_id: TEXT, status: TEXT, cost: AMOUNT, log: OBJECT }, [
      'object',
      'request_id',
      'status',
      'cost',
    ]),
    annotations: READ_ONLY,
  },
]
