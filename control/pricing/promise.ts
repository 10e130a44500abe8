import type { RateSet } from '../contract/charge.ts'
import { formatUsd } from '../contract/units.ts'
import type { Catalog, CatalogModel } from './catalogFile.ts'
import { effectiveRates, type Price, priceFromJson, UNIT_OF } from './price.ts'
import type { Sheet } from './sheet.ts'
import { toolViolations } from './toolPromise.ts'

const CLASSES: ReadonlyArray<[key: string, rate: keyof RateSet]> = [
  ['input', 'input'],
  ['output', 'output'],
  ['cached_input', 'cachedInput'],
  ['cache_write_5m', 'cacheWrite5m'],
  ['cache_write_1h', 'cacheWrite1h'],
]

/** A price that would rise although a published sheet still promises it. Prices are units. */
export interface PromiseViolation {
  readonly model: string
  readonly key: string
  readonly promisedUnits: number
  readonly newUnits: number
  /** The shortest prompt that would be billed so, where the rates depend on it. */
  readonly promptTokens?: number
  readonly unit: string
  readonly sheet: string
  readonly until: string
}

/**
 * Compares a catalog with the sheets whose promise still holds.
 * A model that is taken off the list breaks no promise; one that comes back is held to it.
 * @param promised the sheets with `valid_until` in the future
 * @returns one violation per model and price key, that of the lowest promise
 */
export function promiseViolations(catalog: Catalog, promised: readonly Sheet[]): PromiseViolation[] {
  const models = new Map(catalog.models.map((model) => [model.id, model]))
  const worst = new Map<string, PromiseViolation>()
  for (const sheet of promised) {
    for (const listed of sheet.models) {
      const model = models.get(listed.id)
      if (model === undefined) continue
      const before = priceFromJson(listed.price)
      const beforePrivate = listed.price_private && priceFromJson(listed.price_private)
      for (const rise of modelRises(before, beforePrivate, model)) {
        const id = `${model.id} ${rise.key}`
        const known = worst.get(id)
        if (known !== undefined && known.promisedUnits <= rise.promisedUnits) continue
        const unit = UNIT_OF[model.modality].replace('_', ' ')
        worst.set(id, { ...rise, model: model.id, unit, sheet: sheet.version, until: sheet.rate_lock.valid_until })
      }
    }
  }
  return [...worst.values(), ...toolViolations(catalog, promised)]
}

/** One line for the operator. */
export function violationText(violation: PromiseViolation): string {
  const { model, key, promisedUnits, newUnits, promptTokens, unit, sheet, until } = violation
  const where = promptTokens === undefined ? '' : ` for prompts of ${promptTokens} tokens`
  return (
    `${model}: ${key} may not rise from ${formatUsd(promisedUnits)} to ${formatUsd(newUnits)} USD per ${unit}${where}: ` +
    `price sheet ${sheet} promises it until ${until}`
  )
}

interface Rise {
  readonly key: string
  readonly promisedUnits: number
  readonly newUnits: number
  readonly promptTokens?: number
}

function modelRises(before: Price, beforePrivate: Price | undefined, model: CatalogModel): Rise[] {
  const rises = priceRises('price', before, model.price)
  if (beforePrivate === undefined && model.pricePrivate === undefined) return rises
  // Where no private rate is stated, the private tier is billed at the standard one.
  return [...rises, ...priceRises('price_private', beforePrivate ?? before, model.pricePrivate ?? model.price)]
}

function priceRises(path: string, before: Price, after: Price): Rise[] {
  const rises = [...tokenRises(path, '', before, after), ...flatRises(path, before, after)]
  return path === 'price' ? [...rises, ...tokenRises(path, 'batch_', before, after)] : rises
}

/** Rates are constant between thresholds, so comparing at every threshold and beyond it compares them everywhere. */
function tokenRises(path: string, prefix: '' | 'batch_', before: Price, after: Price): Rise[] {
  const rises = new Map<string, Rise>()
  const thresholds = [before.longContext?.threshold ?? 0, after.longContext?.threshold ?? 0]
  for (const promptTokens of [1, ...thresholds, ...thresholds.map((threshold) => threshold + 1)]) {
    const promised = effectiveRates(before, prefix, promptTokens)
    const now = effectiveRates(after, prefix, promptTokens)
    if (promised === undefined || now === undefined) continue
    const isLong = promptTokens > (after.longContext?.threshold ?? Number.POSITIVE_INFINITY)
    for (const [name, rate] of CLASSES) {
      const key = `${path}.${isLong ? 'long_context.' : ''}${prefix}${name}`
      const isStated =
        rate === 'input' || rate === 'output' || [before, after].some((price) => states(price, prefix + name))
      if (isStated && now[rate] > promised[rate] && !rises.has(key)) {
        const rise = { key, promisedUnits: promised[rate], newUnits: now[rate] }
        rises.set(key, isLong ? { ...rise, promptTokens } : rise)
      }
    }
  }
  return [...rises.values()]
}

/** A class that no side states follows the input price, whose own rise already says everything. */
function states(price: Price, key: string): boolean {
  return price.amounts.has(key) || price.longContext?.amounts.has(key) === true
}

/** Prices per image, character, second or search; a size without a price of its own costs the plain `image` price. */
function flatRises(path: string, before: Price, after: Price): Rise[] {
  const rises: Rise[] = []
  const add = (key: string, promised: number | undefined, now: number | undefined) => {
    if (promised !== undefined && now !== undefined && now > promised) {
      rises.push({ key: `${path}.${key}`, promisedUnits: promised, newUnits: now })
    }
  }
  for (const key of ['image', 'character', 'second', 'search'])
    add(key, before.amounts.get(key), after.amounts.get(key))
  for (const size of new Set([...(before.sizes?.keys() ?? []), ...(after.sizes?.keys() ?? [])])) {
    const plainBefore = before.amounts.get('image')
    add(`sizes.${size}`, before.sizes?.get(size) ?? plainBefore, after.sizes?.get(size) ?? after.amounts.get('image'))
  }
  return rises
}
