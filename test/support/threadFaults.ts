import { BroadcastChannel } from 'node:worker_threads'
import type { CountInput } from '../../workers/countTokens.ts'

/** A message on it has the threads fail that have done a task without texts. */
export const FAIL_NOW = 'sluice-test-fail-now'

/** A task for tests of the thread pool: with texts its thread ends during it, without any it fails when it is told to. */
export function run({ texts }: CountInput): null {
  if (texts.length > 0) process.exit(1)
  new BroadcastChannel(FAIL_NOW).onmessage = () => {
    throw new Error('failed with no task')
  }
  return null
}
