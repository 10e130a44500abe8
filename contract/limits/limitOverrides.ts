/**
 * Limits with the operator's changes applied.
 * @param overrides JSON text such as {"drainGraceMs": 2000}
 * @throws Error naming the entry when it is not a known limit or not a positive integer
 */
export function withOverrides<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
  overrides: string | undefined,
): Readonly<Record<Name, number>> {
  if (overrides === undefined || overrides === '') return defaults
  const parsed: unknown = JSON.parse(overrides)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new Error('SLUICE_LIMITS must be a JSON object of limit names and positive integers')
  }
  const limits: Record<Name, number> = { ...defaults }
  for (const [name, value] of Object.entries(parsed)) {
    if (!Object.hasOwn(defaults, name)) throw new Error(`SLUICE_LIMITS names an unknown limit: ${name}`)
    if (!Number.isSafeInteger(value) || value <= 0) {
      throw new Error(`SLUICE_LIMITS.${name} must be a positive integer, not ${JSON.stringify(value)}`)
    }
    limits[name as Name] = value
  }
  return limits
}
