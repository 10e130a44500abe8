import type { ContractLimits, LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of JSON that providers send. */
export const JSON_LIMITS = {
  /** Members of all objects in the JSON of an answer, or of one event of a stream, without what is relayed as bytes. */
  answerMembersMax: 16_384,
  /** Elements of all arrays in such JSON. */
  answerElementsMax: 32_768,
  /** Such JSON where it is parsed, in bytes. */
  answerParsedBytesMax: 2_097_152,
} as const

export type JsonLimits = LimitsOf<typeof JSON_LIMITS> & ContractLimits
