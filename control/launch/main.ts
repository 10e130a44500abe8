import { type Limits, readLimits } from '../limits.ts'
import { run } from './run.ts'

const show = (text: string): void => void process.stdout.write(`${text}\n`)
// When the reader of stdout is gone (EPIPE), output is dropped.
process.stdout.on('error', () => {})

// Files made from here on, also by child processes, are accessible to this user only.
process.umask(0o077)

/** The limits of the environment; prints the reason and exits if they are invalid. */
function limitsOrExit(): Limits {
  try {
    return readLimits(process.env['SLUICE_LIMITS'])
  } catch (error) {
    show(`Sluice did not start: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  }
}

process.exit(await run(show, limitsOrExit()))
