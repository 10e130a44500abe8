/** Set by `make test-long`. */
const IS_LONG = process.env['SLUICE_TEST_LONG'] === '1'

/**
 * How often a test repeats what it does at random, such as killing a process: a few times in `make test`, which has to
 * stay short, and often in `make test-long`.
 */
export function rounds(count: { readonly short: number; readonly long: number }): number {
  return IS_LONG ? count.long : count.short
}
