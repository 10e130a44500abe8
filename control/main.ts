import { pino } from 'pino'
import { readVariables, unknownVariables } from '../contract/schemas/environment.ts'
import { readPaymentsConfig } from './chain/paymentsConfig.ts'
import { type Limits, readLimits } from './limits.ts'
import { FileError } from './runtime/files/yamlFile.ts'
import { logEvent } from './runtime/logEvents.ts'
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
  logEvent(log, 'control_stopping', { reason })
  setTimeout(() => {
    logEvent(log, 'shutdown_timeout')
    process.exit(1)
  }, limits.shutdownTimeoutMs).unref()
  await service?.stop()
  logEvent(log, 'control_stopped')
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
  logEvent(log, 'startup_failed', { problems, ...(error instanceof FileError ? {} : { err: error }) })
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
  for (const problem of unknownVariables(process.env)) logEvent(log, 'configuration_variable_unknown', { problem })
  const payments = await readPaymentsConfig(process.env)
  service = new ControlService({ ...readEnvironment(process.env), payments }, log, limits)
  const metricsPort = await service.start(stopping.signal)
  logEvent(log, 'control_ready', { metricsPort })
  process.send?.({ ready: { metricsPort } })
} catch (error) {
  if (!stopping.signal.aborted) fail(error)
}
