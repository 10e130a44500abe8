import { readFileSync } from 'node:fs'

/** The metric that tells two builds side by side apart; its value is 1. */
export const BUILD_INFO = {
  name: 'sluice_build_info',
  help: 'The build that runs: its version, the commit that it was made of, and the version of Node.js',
  labelNames: ['version', 'revision', 'node'],
} as const

/** The facts about a build. */
interface Build {
  readonly version: string
  /** Of git; '' where it was built without. */
  readonly revision: string
}

let known: Build | undefined

/** The values of the labels of `BUILD_INFO` for this process. */
export function buildLabels(): Record<(typeof BUILD_INFO.labelNames)[number], string> {
  // Written by the build beside what it compiles, and read once: a later build is not what runs.
  known ??= JSON.parse(readFileSync(new URL('../../build.json', import.meta.url), 'utf8')) as Build
  return { version: known.version, revision: known.revision, node: process.versions.node }
}
