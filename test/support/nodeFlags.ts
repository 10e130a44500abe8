// V8 of Node.js 22 and later counts calls in place of a budget, and refuses this flag.
const OPTIMIZED_LATE = Number.parseInt(process.versions.node, 10) < 22 ? ['--interrupt-budget=1000000'] : []

/**
 * Flags of Node.js for the programs of a run, which start often and run for a moment: no symbolic link is looked for in paths,
 * only what runs long is optimized, nothing is compiled twice, and the young space begins with room for what they load.
 */
export const TEST_FLAGS = [
  '--preserve-symlinks',
  '--preserve-symlinks-main',
  ...OPTIMIZED_LATE,
  '--no-flush-bytecode',
  '--min-semi-space-size=16',
]
