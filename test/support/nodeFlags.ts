// Flags of Node.js that make the start of programs cheaper: most programs of a test run do little else.

/** Functions are optimized when they have run for long, as most never pay that back. Node.js 22 has another name for it and ends at the old one. */
const LATE_OPTIMIZATION =
  Number.parseInt(process.versions.node, 10) < 22
    ? '--interrupt-budget=4000000'
    : '--invocation-count-for-turbofan=180000'

/** Functions are optimized late; and no symbolic link is looked for in paths. */
export const TEST_FLAGS = [LATE_OPTIMIZATION, '--preserve-symlinks', '--preserve-symlinks-main']

/** For programs that end before a larger young space is much larger than what they load. */
export const SHORT_LIVED_FLAGS = [...TEST_FLAGS, '--min-semi-space-size=16']
