import type { ShapeName } from '../../../contract/api/answers/shapes.ts'
import type { ContractLimits } from '../../../contract/limits/limits.ts'
import { messagesOf, open, SAMPLING, TOKENS } from './bodyParts.ts'
import type { ProxyOperation } from './proxyOperation.ts'
import { soldOf } from './soldOperations.ts'

const soldOperations = (limits: ContractLimits) =>
  soldOf(limits).flatMap(({ path, operation }): [string, ProxyOperation][] => [
    [`POST ${path}`, { ...operation, auth: 'key' }],
    [`POST /x402${path}`, { ...operation, summary: `${operation.summary}; paid per request`, auth: 'paid' }],
  ])

/** A read of JSON. */
const read = (
  summary: string,
  shape: ShapeName,
  auth: ProxyOperation['auth'] = 'none',
  ...paths: string[]
): ProxyOperation => ({
  summary,
  auth,
  answers: { 200: shape },
  ...(paths.length > 0 && { paths }),
})

/** A read of something else. */
const readText = (summary: string, answerType: string, ...paths: string[]): ProxyOperation => ({
  summary,
  auth: 'none',
  answerType,
  ...(paths.length > 0 && { paths }),
})

const CLIP: Readonly<Record<string, ProxyOperation>> = {
  '/v1/videos/{id}/content': { summary: 'Download the clip of a completed job', auth: 'key', answerType: 'video/mp4' },
}

/** By the method and path of the table of routes. */
export const proxyOperations = (limits: ContractLimits): Readonly<Record<string, ProxyOperation>> => ({
  ...Object.fromEntries(soldOperations(limits)),
  'POST /v1/messages': {
    summary: 'Create a message with the chat models, in the Messages format of Anthropic',
    auth: 'key',
    body: open(
      {
        messages: messagesOf(limits),
        max_tokens: TOKENS,
        ...SAMPLING,
        temperature: { ...SAMPLING.temperature, maximum: 1 },
      },
      ['messages', 'max_tokens'],
    ),
    answers: { 200: 'Message' },
    streams: 'text',
  },
  'POST /v1/messages/count_tokens': {
    summary: 'Count the input tokens of a Messages request; free',
    auth: 'key',
    body: open({ messages: messagesOf(limits) }, ['messages']),
    answers: { 200: 'TokenCount' },
  },
  'POST /v1/responses': {
    summary: 'Create a response with the chat models, in the Responses format of OpenAI; nothing is stored',
    auth: 'key',
    body: open(
      {
        input: { description: 'A text, or an array of items with the history' },
        max_output_tokens: TOKENS,
        ...SAMPLING,
      },
      ['input'],
    ),
    answers: { 200: 'Response' },
    streams: 'text',
  },
  'POST /v1/responses/compact': {
    summary: 'Have the model sum up a conversation; the answer is an input to go on from',
    auth: 'key',
    body: open({ input: { description: 'A text, or an array of items with the history' }, max_output_tokens: TOKENS }, [
      'input',
    ]),
    answers: { 200: 'CompactedResponse' },
  },
  'POST /v1/responses/input_tokens': {
    summary: 'Count the input tokens of a response; free',
    auth: 'key',
    body: open({ input: { description: 'A text, or an array of items with the history' } }, ['input']),
    answers: { 200: 'InputTokens' },
  },
  'GET /v1/videos/*': { ...read('The state of a video job', 'Video', 'key', '/v1/videos/{id}'), below: CLIP },
  'GET /v1/models': read('The models that are available now', 'ModelList'),
  'GET /v1/models/*': read('One model', 'Model', 'none', '/v1/models/{id}'),
  'GET /v1/pricing': read('The price sheet in force', 'PriceSheet'),
  'GET /v1/pricing/sheets': read('Every price sheet ever served', 'PriceSheetList'),
  'GET /v1/pricing/sheets/*': read('One price sheet', 'PriceSheet', 'none', '/v1/pricing/sheets/{version}'),
  'GET /v1/limits': read('Rate limits, sizes and timeouts', 'Limits'),
  'GET /v1/receipts/*': read('One receipt with its position in the usage log', 'Receipt', 'key', '/v1/receipts/{id}'),
  'GET /v1/log/*': readText(
    'Tiles of the log of heads and, below its number, of each usage log with its checkpoint',
    'application/octet-stream',
    '/v1/log/tile/{level}/{tile}',
    '/v1/log/{log}/checkpoint',
    '/v1/log/{log}/tile/{level}/{tile}',
  ),
  'GET /x402/v1/receipts/*': read('The public receipt of any request', 'Receipt', 'none', '/x402/v1/receipts/{id}'),
  'GET /v1/tools': read('The priced tools', 'ToolList'),
  'GET /v1/tools/*': read('One priced tool', 'Tool', 'none', '/v1/tools/{id}'),
  'POST /v1/tools/*': {
    summary: 'Run a tool; the body is its input, which has to match its input_schema',
    auth: 'key',
    paths: ['/v1/tools/{id}'],
    body: { type: 'object', properties: {}, required: [] },
    answers: { 200: 'ToolResult' },
  },
  'POST /mcp': {
    summary: 'Model Context Protocol over streamable HTTP, without sessions; the body is one JSON-RPC message',
    auth: 'none',
    body: { type: 'object', properties: { jsonrpc: { const: '2.0' } }, required: ['jsonrpc'] },
    answers: { 200: 'JsonRpc' },
  },
  'GET /v1/status': read('The state of the service and its open incidents', 'Status'),
  'GET /v1/status/history': read('The daily state of the service', 'StatusHistory'),
  'GET /health': read('The state of the dependencies', 'Health'),
  'GET /ready': read('Whether requests can be served', 'Ready'),
  'GET /v1/openapi.json': readText('This document', 'application/json'),
  'GET /skill.md': readText('Instructions for agents that pay per request, as text', 'text/markdown'),
  'GET /llms.txt': readText('Overview of the API, as text for language models', 'text/plain'),
  'GET /console': readText('The console, for browsers', 'text/html'),
  'GET /console/*': readText('A page of the console, or one of its files', 'text/html', '/console/{page}'),
})
