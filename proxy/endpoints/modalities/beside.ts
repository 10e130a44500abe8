import { VECTOR_MEMBERS } from '../../../contract/catalog/requestForm.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { unknownNames } from '../../dialects/shared/requestForm.ts'
import type { HeaderList } from '../../server/exchange.ts'
import { namesHeader } from '../run/namesHeader.ts'
import type { ModalityLimits } from './limits.ts'

/** Members of a request that not every provider gets. */
export interface Beside {
  /** Names that none gets. */
  readonly unknown: readonly string[]
  /** Small values that those get which have their names among the `extra_members`. */
  readonly extras: JsonObject
}

/** Members that every operation reads. */
const COMMON = ['model', 'batch', 'provider']
const EXTRAS: ReadonlySet<string> = new Set(VECTOR_MEMBERS)

/** The names of the members that an operation reads. @param own those that it has beside the common ones */
export function readNames(...own: readonly string[]): ReadonlySet<string> {
  return new Set([...COMMON, ...own])
}

/** @param read the names of the members that the operation reads */
export function readBeside(
  body: JsonObject,
  read: ReadonlySet<string>,
  { droppedNamesMax, nameCharactersMax }: ModalityLimits,
): Beside {
  const extras: JsonObject = {}
  const unknown: string[] = []
  for (const name of unknownNames(body, read, droppedNamesMax)) {
    if (EXTRAS.has(name) && isSmall(body[name], nameCharactersMax)) extras[name] = body[name]
    else unknown.push(name)
  }
  return { unknown, extras }
}

/** The members of a form beside those that an operation reads. @param names of its fields and files */
export function besideForm(names: readonly string[], read: ReadonlySet<string>, limits: ModalityLimits): Beside {
  const fields = names.map((name) => [name.replace(/\[.*$/s, ''), true] as const)
  return readBeside(Object.fromEntries(fields), read, limits)
}

/** The members that the provider of a route gets beside those that all get. */
export function extrasFor({ provider: { form } }: Route, { extras }: Beside): JsonObject {
  return Object.fromEntries(Object.entries(extras).filter(([name]) => form?.extra.includes(name)))
}

/** The header that names the members which the provider of a route did not get; none where it got all. */
export function droppedHeader(route: Route | null, beside: Beside): HeaderList {
  if (route === null) return []
  const taken = extrasFor(route, beside)
  const names = [...beside.unknown, ...Object.keys(beside.extras).filter((name) => taken[name] === undefined)]
  return namesHeader(names)
}

function isSmall(value: unknown, charactersMax: number): boolean {
  return typeof value === 'string' ? value.length <= charactersMax : !isJsonObject(value) && !Array.isArray(value)
}
