import { isJsonObject } from '../std/jsonObject.ts'
import { CLIENT_LIMITS } from './clientLimits.ts'
import { SHARED_LIMITS } from './sharedLimits.ts'

/** The limits that several parts of the gateway share. */
export const CONTRACT_LIMITS = { ...CLIENT_LIMITS, ...SHARED_LIMITS }

type Table<Name extends string> = Readonly<Record<Name, number>>

/** The limits of a table, as an operator may have changed them. */
export type LimitsOf<Limits extends object> = Table<keyof Limits & string>

export type ContractLimits = LimitsOf<typeof CONTRACT_LIMITS>
/** The parts that have their own limits, as SLUICE_LIMITS names them. */
export type PartName = 'proxy' | 'control'

const PARTS: ReadonlySet<string> = new Set<PartName>(['proxy', 'control'])

/**
 * The limits of a part with the operator's changes applied.
 * @param part the part that reads; the members of other parts are left to them
 * @param defaults those of the contract and those of the part alone
 * @param overrides JSON text such as {"drainGraceMs": 2000, "control": {"batchPollMs": 5000}}: limits of the contract,
 *   and limits of single parts under their names
 * @throws Error naming the entry when it is not a known limit or not a positive integer
 */
export function readPart<Name extends string>(
  part: PartName | undefined,
  defaults: Table<Name>,
  overrides: string | undefined,
): Table<Name> {
  if (overrides === undefined || overrides === '') return defaults
  const limits: Record<Name, number> = { ...defaults }
  const isOwn = (name: string): name is Name => Object.hasOwn(defaults, name)
  const change = (name: string, value: unknown, isKnown: boolean, path: string): void => {
    if (!isKnown || !isOwn(name)) throw new Error(`SLUICE_LIMITS names an unknown limit: ${path}`)
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value <= 0) {
      throw new Error(`SLUICE_LIMITS.${path} must be a positive integer, not ${JSON.stringify(value)}`)
    }
    limits[name] = value
  }
  for (const [name, value] of Object.entries(parseObject(overrides, 'SLUICE_LIMITS'))) {
    if (!PARTS.has(name)) change(name, value, Object.hasOwn(CONTRACT_LIMITS, name), name)
    else if (name === part) {
      for (const [own, changed] of Object.entries(objectOf(value, `SLUICE_LIMITS.${part}`))) {
        change(own, changed, !Object.hasOwn(CONTRACT_LIMITS, own), `${part}.${own}`)
      }
    }
  }
  return limits
}

function parseObject(text: string, name: string): object {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new Error(`${name} is not valid JSON: ${(error as Error).message}`, { cause: error })
  }
  return objectOf(parsed, name)
}

function objectOf(value: unknown, name: string): object {
  if (isJsonObject(value)) return value
  throw new Error(`${name} must be a JSON object of limit names and positive integers`)
}
