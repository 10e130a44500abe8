import '../../contract/std/mendedJson.ts'
import { secretNames } from '../../contract/schemas/environment.ts'
import { takeSecretFiles } from '../../contract/schemas/secretFiles.ts'
import { type Limits, readLimits } from '../limits.ts'
import { run } from './run.ts'

const show = (text: string): void => void process.stdout.write(`${text}\n`)
// When the reader of stdout is gone (EPIPE), output is dropped.
process.stdout.on('error', () => {})

// Files made from here on, also by child processes, are accessible to this user only.
process.umask(0o077)

/** The limits of the environment, whose secrets are read; prints the reason and exits if they are invalid. */
function limitsOrExit(): Limits {
  try {
    takeSecretFiles(process.env, secretNames('make run'))
    return readLimits(process.env['SLUICE_LIMITS'])
  } catch (error) {
    show(`Sluice did not start: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  }
}

process.exit(await run(show, limitsOrExit()))
