import { rmSync } from 'node:fs'
import { processOf } from '../../../control/launch/process/leftover.ts'

/** In the environment of lanes: the pid file of the run's PostgreSQL, and the folders of the run, between colons. */
export const POSTMASTER_VARIABLE = 'SLUICE_TEST_POSTMASTER'
export const FOLDERS_VARIABLE = 'SLUICE_TEST_FOLDERS'

/** Ends what a runner that was killed can no longer end. Every lane does, so that it is done while one of them lives. */
export function stopRunOfDeadRunner(): void {
  const postmaster = processOf(process.env[POSTMASTER_VARIABLE] ?? '', /postgres/)
  if (postmaster !== undefined) process.kill(postmaster, 'SIGQUIT')
  const folders = (process.env[FOLDERS_VARIABLE] ?? '').split(':').filter((folder) => folder !== '')
  process.once('exit', () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 })
  })
}
