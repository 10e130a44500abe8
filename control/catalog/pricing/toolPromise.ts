import type { Catalog } from './catalogFile.ts'
import { type PromiseViolation, placeOf } from './promiseViolation.ts'
import type { Sheet } from './sheet.ts'
import { toolPriceFromJson } from './toolPrice.ts'

/**
 * Compares the prices of tools with the sheets whose promise still holds. A price that turns from flat to one by
 * result, or back, rises when it can cost more for one result than it did.
 * @returns one violation per tool and price key, that of the lowest promise
 */
export function toolViolations(catalog: Catalog, promised: readonly Sheet[]): PromiseViolation[] {
  const places = new Map(catalog.tools.map((tool, place) => [tool.id, place]))
  const worst = new Map<string, PromiseViolation>()
  for (const sheet of promised) {
    for (const listed of sheet.tools ?? []) {
      const index = places.get(listed.id) ?? -1
      const now = catalog.tools[index]?.price
      if (now === undefined) continue
      const before = toolPriceFromJson(listed.price)
      const compared = [
        { key: now.perResult ? 'price.base' : 'price.call', old: before.callUnits, new: now.callUnits },
        { key: 'price.result', old: before.resultUnits, new: now.resultUnits },
      ]
      for (const { key, old, new: newUnits } of compared) {
        const id = `${listed.id} ${key}`
        const known = worst.get(id)
        if (newUnits <= old || (known !== undefined && known.promisedUnits <= old)) continue
        const unit = key === 'price.result' ? 'result' : 'call'
        const { version, rate_lock } = sheet
        const place = placeOf(catalog.source, ['tools', index, ...key.split('.')])
        worst.set(id, {
          model: listed.id,
          key,
          promisedUnits: old,
          newUnits,
          unit,
          place,
          sheet: version,
          until: rate_lock.valid_until,
        })
      }
    }
  }
  return [...worst.values()]
}
