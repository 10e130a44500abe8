import '../contract/std/mendedJson.ts'
import { main } from './cli/main.ts'
import { type Limits, readLimits } from './limits.ts'

/** The limits of the environment; says what is wrong with them and ends where something is. */
function limitsOrExit(): Limits {
  try {
    return readLimits(process.env['SLUICE_LIMITS'])
  } catch (error) {
    process.stderr.write(`sluice: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
}

// A reader such as `head` may have seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

process.exitCode = await main(process.argv.slice(2), limitsOrExit())
