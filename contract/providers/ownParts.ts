import { sluice } from '../wire/generated/messages.js'
import { type KeySource, readSecret, type Secret } from './providerKeys.ts'

/** A header, or a parameter of the query, that a provider wants with every request: its value, or where the value is. */
export interface OwnPart extends KeySource {
  readonly name: string
  /** '' for one that is a secret. */
  readonly value: string
}

/** The own headers and the own query of a provider, as its requests have them. */
export interface OwnParts {
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  /** Without the question mark; '' for none. */
  readonly query: string
  /** Those whose secret cannot be read; the provider cannot be asked without them. */
  readonly unread: readonly { readonly part: OwnPart; readonly fault: string }[]
}

/** A list of own parts, as a record or the file of the catalog has it. */
type Listed = readonly Readonly<sluice.OwnPartRecord.$Properties>[] | null

/** The own parts of a provider. @param read reads a secret as it is now */
export function ownPartsOf(
  { headers, query }: { readonly headers?: Listed; readonly query?: Listed },
  read: (source: KeySource) => Secret,
): OwnParts {
  const unread: { part: OwnPart; fault: string }[] = []
  const named = (records: Listed | undefined): [name: string, value: string][] =>
    (records ?? []).map((bare) => {
      const { name, value, env, file } = sluice.OwnPartRecord.create(bare)
      const part = { name, value, env, file }
      const { text, fault } = value === '' ? read(part) : { text: value, fault: '' }
      if (text === '') unread.push({ part, fault })
      return [name, text]
    })
  return { headers: named(headers).flat(), query: queryOf(named(query)), unread }
}

/** The path of a request with the own query of its provider. */
export function withOwnQuery(path: string, query = ''): string {
  return query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`
}

/** The own parts by the environment of this process; undefined where a secret cannot be read. */
export function readOwnParts(
  record: sluice.ProviderRecord.$Properties,
  environment: NodeJS.ProcessEnv,
): OwnParts | undefined {
  const parts = ownPartsOf(record, (source) => readSecret(source, environment))
  return parts.unread.length === 0 ? parts : undefined
}

/** Headers by name. @param list name, value, name, value */
export function headersByName(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let i = 0; i + 1 < list.length; i += 2) headers[list[i] ?? ''] = list[i + 1] ?? ''
  return headers
}

function queryOf(parameters: readonly (readonly [name: string, value: string])[]): string {
  return parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
}
