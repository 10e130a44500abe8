/** Flags of Node.js for the programs of a run: no symbolic link is looked for in paths. */
export const TEST_FLAGS = ['--preserve-symlinks', '--preserve-symlinks-main']

/** For programs that end before a larger young space is much larger than what they load. */
export const SHORT_LIVED_FLAGS = [...TEST_FLAGS, '--min-semi-space-size=16']
