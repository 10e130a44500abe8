import type { HeaderList } from '../../server/exchange.ts'

const NONE: HeaderList = []

/** The header that names the members of a request that its provider does not get; none without any. */
export function namesHeader(names: readonly string[]): HeaderList {
  return names.length === 0 ? NONE : ['x-dropped-parameters', names.join(', ')]
}
