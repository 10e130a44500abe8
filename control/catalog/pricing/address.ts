/** An address that the schema has checked, in its normal form and without a slash at its end. */
export function plainAddress(address: string): string {
  return new URL(address).href.replace(/\/+$/, '')
}
