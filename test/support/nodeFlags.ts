/**
 * Flags of Node.js for the programs of a run: no symbolic link is looked for in paths, and the processor does not go to
 * optimizing what runs for a moment alone, or to compiling again what has rested.
 */
export const TEST_FLAGS = [
  '--preserve-symlinks',
  '--preserve-symlinks-main',
  '--interrupt-budget=1000000',
  '--no-flush-bytecode',
]

/** For programs that end before a larger young space is much larger than what they load. */
export const SHORT_LIVED_FLAGS = [...TEST_FLAGS, '--min-semi-space-size=16']
