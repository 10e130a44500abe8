import { isJsonObject, type JsonObject } from '../../contract/std/jsonObject.ts'
import type { Answer } from './answer.ts'

const TOKENS = ['prompt_tokens', 'completion_tokens'] as const

/** The charge of a receipt; undefined where it has none. */
export function chargeUnits(receipt: JsonObject): bigint | undefined {
  const units = memberOf(receipt['cost'], 'units')
  return typeof units === 'string' && /^\d{1,20}$/.test(units) ? BigInt(units) : undefined
}

/** The differences between an answer and its receipt, each as a text. */
export function answerDifferences({ receipt, requestId, usage, costUnits, errorCode }: Answer): string[] {
  if (receipt === undefined) return []
  const found: string[] = []
  const compare = (what: string, seen: unknown, stated: unknown): void => {
    if (seen !== stated) found.push(`${what}: the answer says ${seen}, its receipt ${stated}`)
  }
  compare('request id', requestId, receipt['request_id'])
  if (costUnits !== undefined) compare('charge in units', costUnits, memberOf(receipt['cost'], 'units'))
  if (chargeUnits(receipt) === undefined) found.push('the receipt has no charge')
  if (errorCode === '') compare('status', 'ok', receipt['status'])
  if (usage !== undefined) for (const name of TOKENS) compare(name, usage[name], memberOf(receipt['usage'], name))
  return found
}

/** How the receipt that the book has differs from the one that came with the answer. */
export function bookDifferences(seen: JsonObject, booked: JsonObject): string[] {
  const pairs: [what: string, seen: unknown, booked: unknown][] = [
    ['request id', seen['request_id'], booked['request_id']],
    ['status', seen['status'], booked['status']],
    ['charge in units', memberOf(seen['cost'], 'units'), memberOf(booked['cost'], 'units')],
    ...TOKENS.map((name): [string, unknown, unknown] => {
      return [name, memberOf(seen['usage'], name), memberOf(booked['usage'], name)]
    }),
  ]
  const different = pairs.filter(([, one, other]) => one !== other)
  return different.map(([what, one, other]) => `${what}: the receipt said ${one}, the book says ${other}`)
}

function memberOf(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined
}
