import type { WantedCall } from './wire.ts'

/** The arguments of two calls as JSON text, and what a client must get of them. */
export const OSLO = '{"city":"Oslo"}'
export const BERGEN = '{"city":"Bergen"}'
export const oslo = { name: 'weather', input: { city: 'Oslo' } }
export const bergen = { name: 'weather', input: { city: 'Bergen' } }
export const both: WantedCall[] = [
  { ...oslo, id: 'call_a' },
  { ...bergen, id: 'call_b' },
]
export const one: WantedCall[] = [{ ...oslo, id: 'call_a' }]

interface Members {
  readonly index?: unknown
  readonly id?: unknown
  readonly type?: string
  readonly name?: unknown
  readonly arguments?: unknown
}

/** A call, or a piece of one, with the members that are given. */
export function call({ index, id, type = 'function', ...said }: Members): unknown {
  return { ...(index === undefined ? {} : { index }), ...(id === undefined ? {} : { id }), type, function: said }
}

/** A call with all its members, but for an index or an id that is undefined. */
export function fullCall(index: unknown, id: string | undefined, text: unknown, name: string = 'weather'): unknown {
  return call({ index, id, name, arguments: text })
}
