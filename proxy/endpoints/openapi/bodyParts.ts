import { type JsonSchema, members, type ObjectSchema } from '../../../contract/api/route.ts'
import type { ContractLimits } from '../../../contract/limits/limits.ts'

/** A member that is a text. */
export const text = (description: string): JsonSchema => ({ type: 'string', description })
/** A member that is a whole number. */
export const integer = (description: string): JsonSchema => ({ type: 'integer', description })
const MODEL = text('The id of a model from GET /v1/models')
/** A file of a form. */
export const FILE = (description: string): JsonSchema => ({ type: 'string', format: 'binary', description })

/** The body of a request to a model, which may have other members: they are forwarded to the provider unchanged. */
export const open = (properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): ObjectSchema => ({
  ...members({ model: MODEL, ...properties }, ['model', ...required]),
  additionalProperties: true,
})

/** The messages of a chat. */
export const messagesOf = (limits: ContractLimits): JsonSchema => ({
  type: 'array',
  minItems: 1,
  maxItems: limits.messagesMax,
  items: { type: 'object' },
  description: 'The conversation',
})
/** Members that all chats have. */
export const SAMPLING = {
  stream: { type: 'boolean', description: 'Stream the answer as server-sent events' },
  temperature: { type: 'number', minimum: 0, maximum: 2, description: 'Sampling temperature' },
  models: {
    type: 'array',
    items: { type: 'string' },
    description:
      'Models that serve in place of the first where it cannot: it fails before its first output, its providers limit the gateway, ' +
      'or the request does not fit into its context. The receipt and x-served-model name the one that served. [] leaves out those of the catalog',
  },
  provider: {
    type: 'object',
    description:
      'Routing and privacy preferences: allow_retention (true opts in to providers and tools that keep data, false opts out, ' +
      'absent takes the default of the key, else of the account), allow_registered (false keeps the request from the endpoints that other ' +
      'accounts have registered), max_price',
  },
}
/** The output limit, and its two names in chats. */
export const TOKENS = integer("Maximum number of output tokens, up to the model's max_output; determines the hold")
export const MAX_TOKENS = { max_tokens: TOKENS, max_completion_tokens: TOKENS }
