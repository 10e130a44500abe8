import { formatUsd } from '../../../contract/money/units.ts'
import type { Path } from '../../runtime/files/yamlFile.ts'
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
  /** File and line of the price; of its parent when the price is missing. */
  readonly place: string
}

/** File and line of a field; of its parent when the field is missing. */
export function placeOf({ file, lineOf }: CatalogSource, path: Path): string {
  return `${file}:${lineOf(path)}`
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
