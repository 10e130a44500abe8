import assert from 'node:assert/strict'
import { parseLeaseText } from '../../../contract/wire/countedText.ts'
import { parseCharges } from '../../../contract/wire/unsettled.ts'
import type { Pots } from './leaseOwner.ts'

/** Units by pot: `coin`, or the id of a grant. */
export type Units = Record<string, number>
export const sumOf = (units: Units): number => Object.values(units).reduce((sum, part) => sum + part, 0)
export const potsOf = ({ coin = 0, ...grants }: Units): Pots => ({ coin, grants })
export const unsettledUnits = ({ coinUnits, grants }: ReturnType<typeof parseCharges> = parseCharges(null)): Units => ({
  coin: coinUnits,
  ...Object.fromEntries(grants.map(({ grantId, units }) => [grantId, units])),
})
export const shareOf = (units: Units, percent: number): Units =>
  Object.fromEntries(Object.entries(units).map(([pot, part]) => [pot, Math.floor((part * percent) / 100)]))

/** Adds what leases say is out, by account and pot and by key. */
export function addLease(text: string, byPot: Map<string, Units>, byKey: Map<string, number>): void {
  const { accountId, keys, coin, parts } = parseLeaseText(text) ?? assert.fail(text)
  const pots: Units = { coin: Number(coin) }
  for (const part of parts.split(',').filter((some) => some !== '')) {
    const [id = '', units] = part.split('=')
    pots[id] = Number(units)
  }
  addTo(byPot, accountId, pots)
  for (const keyId of keys.split('/')) addSpent(byKey, keyId, sumOf(pots))
}

export function addTo(byPot: Map<string, Units>, accountId: string, pots: Units): void {
  const sums = byPot.get(accountId) ?? {}
  for (const [pot, units] of Object.entries(pots)) sums[pot] = (sums[pot] ?? 0) + units
  byPot.set(accountId, sums)
}

export const addSpent = (byKey: Map<string, number>, keyId: string, units: number): void =>
  void byKey.set(keyId, (byKey.get(keyId) ?? 0) + units)
