import { must } from './failed.ts'
import type { Members } from './members.ts'

const DECIMALS = 9
const NANOS = 10n ** BigInt(DECIMALS)
const RATIO = 10n ** 6n
const ADDRESSES = ['network', 'block', 'block_hash', 'treasury'] as const

/**
 * Checks that a stated reserve adds up.
 * @param sumNanos the total of the sum tree
 * @throws Failed if it does not
 */
export function checkReserve(reserve: Members, sumNanos: bigint): string {
  const coinUsd = amountOf(reserve, 'coin_usd')
  const owed = reserve.objects('owed').map((row) => owedOf(row, coinUsd))
  const coin = sum(owed.filter(({ isCoin }) => isCoin).map(({ amount }) => amount))
  must(coin === sumNanos, `the classes of coin are ${coin} nanos, the tree has ${sumNanos}`)
  const owedUnits = sum(owed.map(({ units }) => units))
  must(owedUnits === amountOf(reserve, 'owed_usd'), 'what is owed does not add up')
  const heldUnits = sum(reserve.objects('held').map(heldOf))
  must(heldUnits === amountOf(reserve, 'held_usd'), 'what is held does not add up')
  if (reserve.isNull('network')) {
    const isNone = ADDRESSES.every((name) => reserve.isNull(name)) && heldUnits === 0n
    must(isNone && reserve.isNull('ratio') && reserve.isNull('covered'), 'it has no chain and something on it')
    return `${reserve.text('owed_usd')} USD owed; the gateway has no chain`
  }
  must(reserve.flag('covered') === heldUnits >= owedUnits, 'covered is not what the amounts say')
  const ratio = owedUnits === 0n ? undefined : (heldUnits * RATIO) / owedUnits
  const stated = reserve.isNull('ratio') ? undefined : decimalOf(reserve.text('ratio'), 6)
  must(ratio === stated, 'the ratio is not what the amounts say')
  return `${reserve.text('held_usd')} USD held at block ${reserve.count('block')}, ${reserve.text('owed_usd')} USD owed`
}

function owedOf(row: Members, coinUsd: bigint) {
  const isCoin = row.oneOf('asset', ['coin', 'usd']) === 'coin'
  const [amount, units] = [amountOf(row, 'amount'), amountOf(row, 'usd')]
  const worth = isCoin ? (amount * coinUsd + NANOS - 1n) / NANOS : amount
  must(units === worth, `${row.text('class')} is not worth what is stated`)
  return { isCoin, amount, units }
}

function heldOf(row: Members): bigint {
  const later = row.text('later_amount')
  must(/^-?\d{1,78}$/.test(later), 'later_amount is no number')
  const [tokens, scale] = [row.digits('token_amount') + BigInt(later), 10n ** BigInt(row.count('decimals'))]
  const units = amountOf(row, 'usd')
  must(units === (tokens * amountOf(row, 'token_usd')) / scale, `${row.text('asset')} is not worth what is stated`)
  return units
}

function amountOf(members: Members, name: string): bigint {
  return decimalOf(members.text(name), DECIMALS)
}

/** @throws Failed for anything but a decimal that is not negative and has at most this many places */
function decimalOf(text: string, places: number): bigint {
  const match = /^(0|[1-9]\d{0,39})(?:\.(\d+))?$/.exec(text)
  const fraction = match?.[2] ?? ''
  must(match !== null && fraction.length <= places, `${text} is no amount`)
  return BigInt(`${match[1]}${fraction.padEnd(places, '0')}`)
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}
