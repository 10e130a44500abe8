import { pino } from 'pino'
import { readVariables, unknownVariables } from '../../contract/schemas/environment.ts'
import type { Product } from '../api/product.ts'
import { readPaymentsConfig } from '../chain/paymentsConfig.ts'
import { type Limits, readLimits } from '../limits.ts'
import { FileError } from '../runtime/files/yamlFile.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { ControlService } from './controlService.ts'
import { readEnvironment } from './environment.ts'

/**
 * Runs control in this process until a signal, or the end of its parent, stops it. A start that cannot succeed ends the process
 * with status 1 and names the reason.
 * @param products those that are served and run
 */
export async function runControl(products: readonly Product[]): Promise<void> {
  const log = pino({ name: 'control', level: 'info' })
  const stopping = new AbortController()
  const fail = (error: unknown): never => {
    const problems =
      error instanceof FileError ? error.problems : [error instanceof Error ? error.message : String(error)]
    logEvent(log, 'startup_failed', { problems, ...(error instanceof FileError ? {} : { err: error }) })
    process.stderr.write(`${problems.join('\n')}\n`)
    process.exit(1)
  }
  const limits = limitsOr(fail)
  let service: ControlService | undefined
  /** Steps that hang are abandoned after limits.shutdownTimeoutMs. */
  const stop = async (reason: string) => {
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
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
  // The parent is gone: nobody would stop this process any more.
  process.on('disconnect', () => void stop('the parent process ended'))
  process.on('SIGHUP', () => void service?.reloadCatalog())
  try {
    log.level = readVariables(process.env, 'control').LOG_LEVEL
    for (const problem of unknownVariables(process.env)) logEvent(log, 'configuration_variable_unknown', { problem })
    const payments = await readPaymentsConfig(process.env)
    service = new ControlService({ ...readEnvironment(process.env), payments }, products, log, limits)
    const metricsPort = await service.start(stopping.signal)
    logEvent(log, 'control_ready', { metricsPort })
    process.send?.({ ready: { metricsPort } })
  } catch (error) {
    if (!stopping.signal.aborted) fail(error)
  }
}

function limitsOr(fail: (error: unknown) => never): Limits {
  try {
    return readLimits(process.env['SLUICE_LIMITS'])
  } catch (error) {
    return fail(error)
  }
}
