/** Set by `make test-long`. */
const IS_LONG = process.env['SLUICE_TEST_LONG'] === '1'

/**
 * How often a test repeats what it does at random, such as killing a process: a few times in `make test`, which has to
 * stay short, and often in `make test-long`.
 */
export function rounds(count: { readonly short: number; readonly long: number }): number {
  return IS_LONG ? count.long : count.short
}

/**
 * The cases of a table whose every case takes long: each `every`-th in `make test`, from the first on, and all in
 * `make test-long`.
 */
export function sampled<Case>(cases: readonly Case[], every: number): readonly Case[] {
  return IS_LONG ? cases : cases.filter((_, at) => at % every === 0)
}
