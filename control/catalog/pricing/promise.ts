import { formatUsd, parseUsd } from '../../../contract/money/units.ts'
import type { Catalog } from './catalogFile.ts'
import type { CatalogModel } from './modelReader.ts'
import { effectiveRates, type Price, priceFromJson, TOKEN_CLASSES, UNIT_OF } from './price.ts'
import { type PromiseViolation, placeOf } from './promiseViolation.ts'
import type { Sheet, SheetModel } from './sheet.ts'
import { toolViolations } from './toolPromise.ts'

/**
 * Compares the prices of a catalog with the sheets whose promise still holds.
 * Removing a model from the list breaks no promise of its price; a model that returns is bound by it again. Compute locks promise
 * their models on their own (seriesPromise.ts).
 * @param promised the sheets with `valid_until` in the future, in the order of their versions
 * @returns one violation per model and price key, that of the lowest promise
 */
export function promiseViolations(catalog: Catalog, promised: readonly Sheet[]): PromiseViolation[] {
  const places = new Map(catalog.models.map((model, place) => [model.id, place]))
  const worst = new Map<string, PromiseViolation>()
  for (const sheet of promised) {
    for (const listed of sheet.models) {
      const index = places.get(listed.id) ?? -1
      const model = catalog.models[index]
      if (model === undefined) continue
      for (const rise of modelRises(listed, model)) {
        const id = `${model.id} ${rise.key}`
        const known = worst.get(id)
        const isWorse =
          rise.newUnits === undefined || (known?.promisedUnits ?? rise.promisedUnits + 1) > rise.promisedUnits
        if (!isWorse) continue
        const unit = UNIT_OF[model.modality].replace('_', ' ')
        const place = placeOf(catalog.source, ['models', index, ...rise.key.split('.')])
        const { version, rate_lock: lock } = sheet
        worst.set(id, { ...rise, model: model.id, unit, place, sheet: version, until: lock.valid_until })
      }
    }
  }
  return [...worst.values(), ...toolViolations(catalog, promised)]
}

/**
 * The violation of a promise by the value of the coin in a catalog, as one line for the operator; undefined when there is none.
 * Every change counts as one: a lower value hurts accounts that pay in coin, a higher value those that are paid in coin.
 * @param inForce the newest sheet, if its promise is still in force
 */
export function coinViolation({ source, coinUsdUnits }: Catalog, inForce: Sheet | undefined): string | undefined {
  if (inForce === undefined || parseUsd(inForce.coin.usd) === coinUsdUnits) return undefined
  const { coin, version, rate_lock: lock } = inForce
  return (
    `${placeOf(source, ['coin', 'usd'])}: coin.usd may not change from ${coin.usd} to ${formatUsd(coinUsdUnits)}: price sheet ` +
    `${version} promises it until ${lock.valid_until}; "catalog publish --change-coin REASON" changes it before that`
  )
}

interface Rise {
  readonly key: string
  readonly promisedUnits: number
  readonly newUnits: number | undefined
  readonly promptTokens?: number
}

function modelRises(listed: SheetModel, model: CatalogModel): Rise[] {
  // Prices of another unit cannot be compared, so that the promised price is not sold any more.
  if (listed.unit !== UNIT_OF[model.modality]) return [withdrawn('price')]
  const rises = priceRises('price', priceFromJson(listed.price), model.price)
  // Sheets have promised private prices of models that were not attested, which are not sold any more.
  if (listed.attested !== true || listed.price_private === undefined) return rises
  if (model.pricePrivate === undefined) return [...rises, withdrawn('price_private')]
  return [...rises, ...priceRises('price_private', priceFromJson(listed.price_private), model.pricePrivate)]
}

function withdrawn(key: string): Rise {
  return { key, promisedUnits: 0, newUnits: undefined }
}

function priceRises(path: string, before: Price, after: Price): Rise[] {
  const rises = [...tokenRises(path, '', before, after), ...flatRises(path, before, after)]
  if (!before.amounts.has('batch_input')) return rises
  if (!after.amounts.has('batch_input')) return [...rises, withdrawn(`${path}.batch_input`)]
  return [...rises, ...tokenRises(path, 'batch_', before, after)]
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
    for (const [name, rate] of TOKEN_CLASSES) {
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

/** A class that no side states follows the input price, whose own rise is already reported. */
function states(price: Price, key: string): boolean {
  return price.amounts.has(key) || price.longContext?.amounts.has(key) === true
}

/** Prices per image, character, second or search; a size without its own price costs the plain `image` price. */
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
    // Where sizes have prices, only those are sold.
    if (before.sizes?.has(size) && after.sizes?.has(size) === false) rises.push(withdrawn(`${path}.sizes.${size}`))
    else
      add(`sizes.${size}`, before.sizes?.get(size) ?? plainBefore, after.sizes?.get(size) ?? after.amounts.get('image'))
  }
  return rises
}
