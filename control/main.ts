import { pino } from 'pino'
import { readVariables, unknownVariables } from '../contract/schemas/environment.ts'
import { type Limits, readLimits } from './limits.ts'
import { readPaymentsConfig } from './onchain/payments/paymentsConfig.ts'
import { FileError } from './runtime/files/yamlFile.ts'
import { ControlService } from './service/controlService.ts'
import { readEnvironment } from './service/environment.ts'

const log = pino({ name: 'control', level: 'info' })
const stopping = new AbortController()
let service: ControlService | undefined
const limits = limitsOrExit()

/** Ends the process; what hangs on the way down is cut off after limits.shutdownTimeoutMs. */
async function stop(reason: string): Promise<void> {
  if (stopping.signal.aborted) return
  stopping.abort(new Error(reason))
  log.info({ reason }, 'stopping')
  setTimeout(() => {
    log.error('stopping took too long; what was under way is left for the next start')
    process.exit(1)
  }, limits.shutdownTimeoutMs).unref()
  await service?.stop()
  log.info('stopped')
  process.exit(0)
}

/** The limits of the environment; ends where they do not hold. */
function limitsOrExit(): Limits {
  try {
    return readLimits(process.env['SLUICE_LIMITS'])
  } catch (error) {
    fail(error)
  }
}

/** A start that can not succeed says why, in full, and ends with status 1. */
function fail(error: unknown): never {
  const problems =
    error instanceof FileError ? error.problems : [error instanceof Error ? error.message : String(error)]
  log.fatal({ problems, ...(error instanceof FileError ? {} : { err: error }) }, 'control can not start')
  process.stderr.write(`${problems.join('\n')}\n`)
  process.exit(1)
}

process.on('SIGTERM', () => void stop('SIGTERM'))
process.on('SIGINT', () => void stop('SIGINT'))
// The parent is gone: nobody would stop this process any more.
process.on('disconnect', () => void stop('the parent process ended'))
process.on('SIGHUP', () => void service?.reloadCatalog())

try {
  log.level = readVariables(process.env, 'control').LOG_LEVEL
  for (const sentence of unknownVariables(process.env)) log.warn(sentence)
  const payments = await readPaymentsConfig(process.env)
  service = new ControlService({ ...readEnvironment(process.env), payments }, log, limits)
  const metricsPort = await service.start(stopping.signal)
  log.info({ metricsPort }, 'control is ready')
  process.send?.({ ready: { metricsPort } })
} catch (error) {
  if (!stopping.signal.aborted) fail(error)
}
