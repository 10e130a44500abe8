import type { CountInput } from '../../workers/countTokens.ts'

/** A task for tests of the thread pool: with texts its thread ends during it, without any it fails when it is over. */
export function run({ texts }: CountInput): null {
  if (texts.length > 0) process.exit(1)
  setImmediate(() => {
    throw new Error('failed with no task')
  })
  return null
}
