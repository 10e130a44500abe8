import { parseTime } from '../../contract/api/time.ts'
import { formatUsd, MAX_UNITS, parseUsd, UNITS_PER_USD } from '../../contract/money/units.ts'
import { UsageError } from './command.ts'

/** Units of a decimal amount such as "1.5". @throws UsageError */
export function amountOf(flagName: string, text: string): number {
  const units = parseUsd(text)
  if (units !== undefined) return units
  if (/^\d+(\.\d{1,9})?$/.test(text) && Number(text) * UNITS_PER_USD > MAX_UNITS) {
    throw new UsageError(`--${flagName} ${text} is too large; the most is ${formatUsd(MAX_UNITS)}`)
  }
  throw new UsageError(`--${flagName} must be a decimal amount such as 1.5, not "${text}"`)
}

/** A time such as 2027-01-31T12:00:00Z, in milliseconds since 1970. @throws UsageError */
export function timeOf(flagName: string, text: string): number {
  const ms = parseTime(text)
  if (ms !== undefined) return ms
  throw new UsageError(`--${flagName} must be a time such as 2027-01-31T12:00:00Z, not "${text}"`)
}

/** Addresses with the upper and lower case by which they are checked (ERC-55). */
export async function checksummed(addresses: readonly string[]): Promise<string[]> {
  // Loaded when it is needed, because that takes as long as all the rest of a command.
  const { getAddress } = await import('viem/utils')
  return addresses.map((address) => getAddress(address))
}

/** A wallet's address in lower case. @throws UsageError */
export function addressOf(text: string): string {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return text.toLowerCase()
  throw new UsageError(`a wallet is 0x and 40 hex digits, not "${text}"`)
}

export function formatTime(ms: number | null): string {
  return ms === null ? '' : new Date(ms).toISOString()
}
