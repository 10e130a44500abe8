import { formatUsd } from '../../../contract/money/units.ts'
import type { CatalogSource } from './catalogFile.ts'

/** A price that would rise, or be withdrawn, although a published sheet still promises it. Prices are units. */
export interface PromiseViolation {
  /** The model or tool. */
  readonly model: string
  readonly key: string
  readonly promisedUnits: number
  /** Undefined for a price that is withdrawn. */
  readonly newUnits: number | undefined
  /** The shortest prompt that would be billed so, where the rates depend on it. */
  readonly promptTokens?: number
  readonly unit: string
  readonly sheet: string
  readonly until: string
  /** Where the price stands, or what it is missing from: file and line. */
  readonly place: string
}

/** File and line of a field, or of what it is missing from. */
export function placeOf({ file, lines }: CatalogSource, path: string): string {
  for (let known = path; known !== ''; known = known.slice(0, Math.max(0, known.lastIndexOf('.')))) {
    const line = lines.get(known)
    if (line !== undefined) return `${file}:${line}`
  }
  return `${file}:1`
}

/** One line for the operator. */
export function violationText(violation: PromiseViolation): string {
  const { model, key, promisedUnits, newUnits, promptTokens, unit, sheet, until, place } = violation
  const where = promptTokens === undefined ? '' : ` for prompts of ${promptTokens} tokens`
  const what =
    newUnits === undefined
      ? 'be withdrawn'
      : `rise from ${formatUsd(promisedUnits)} to ${formatUsd(newUnits)} USD per ${unit}${where}`
  return `${place}: ${model}: ${key} may not ${what}: price sheet ${sheet} promises it until ${until}`
}
