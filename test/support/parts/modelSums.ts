import assert from 'node:assert/strict'
import { parseLeaseText } from '../../../contract/wire/countedText.ts'
import { chargesField, parseCharges } from '../../../contract/wire/unsettled.ts'

export function unitsIn(parts: readonly { readonly units: number }[]): number {
  return sumOf(parts.map(({ units }) => units))
}

export function sumOf(units: readonly number[]): number {
  return units.reduce((sum, one) => sum + one, 0)
}

export function addTo<Key>(sums: Map<Key, number>, key: Key, units: number): void {
  sums.set(key, (sums.get(key) ?? 0) + units)
}

/** The leases among the fields of an owner: units without those that are charged and not settled. */
export function leasesIn(fields: ReadonlyMap<string, string>) {
  return [...fields].flatMap(([field, text]) => {
    if (!field.startsWith('L:')) return []
    const { keys, coin, hour } = parseLeaseText(text) ?? assert.fail(text)
    const charged = parseCharges(fields.get(chargesField(field))).coinUnits
    const units = Number(coin) - charged
    assert.ok(units >= 0, `a lease of ${coin} is charged ${charged}`)
    return [{ keyId: keys.split('/')[0] ?? '', units, charged, hour: Number(hour) }]
  })
}
