import type { Logger } from 'pino'
import { readVariables, unknownVariables } from '../../contract/schemas/environment.ts'
import type { Product } from '../api/product.ts'
import { readPaymentsConfig } from '../chain/paymentsConfig.ts'
import { type Limits, readLimits } from '../limits.ts'
import { FileError } from '../runtime/files/yamlFile.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { ControlService } from './controlService.ts'
import { readEnvironment } from './environment.ts'

export interface ControlProgramParts {
  /** Those that are served and run. */
  readonly products: readonly Product[]
  readonly environment: NodeJS.ProcessEnv
  readonly log: Logger
  /** Takes the texts for the program that has started this one. */
  readonly print: (text: string) => void
  /** The program has ended with this status. */
  readonly onEnd: (status: number) => void
}

/** The program of control, from its environment to its end. */
export class ControlProgram {
  private readonly parts: ControlProgramParts
  private readonly stopping = new AbortController()
  private service: ControlService | undefined
  private limits: Limits | undefined

  constructor(parts: ControlProgramParts) {
    this.parts = parts
  }

  /** Brings everything up. @returns the port of the metrics; undefined where the program has ended */
  async start(): Promise<number | undefined> {
    const { products, environment, log } = this.parts
    try {
      const limits = readLimits(environment['SLUICE_LIMITS'])
      this.limits = limits
      log.level = readVariables(environment, 'control').LOG_LEVEL
      for (const problem of unknownVariables(environment)) logEvent(log, 'configuration_variable_unknown', { problem })
      const payments = await readPaymentsConfig(environment)
      this.service = new ControlService({ ...readEnvironment(environment), payments }, products, log, limits)
      const metricsPort = await this.service.start(this.stopping.signal)
      logEvent(log, 'control_ready', { metricsPort })
      return metricsPort
    } catch (error) {
      if (!this.stopping.signal.aborted) this.fail(error)
      return undefined
    }
  }

  /** Ends the program; steps that hang are abandoned after limits.shutdownTimeoutMs. */
  async stop(reason: string): Promise<void> {
    if (this.stopping.signal.aborted) return
    const { log, onEnd } = this.parts
    this.stopping.abort(new Error(reason))
    logEvent(log, 'control_stopping', { reason })
    const cutOff = setTimeout(() => {
      logEvent(log, 'shutdown_timeout')
      onEnd(1)
    }, this.limits?.shutdownTimeoutMs).unref()
    await this.service?.stop()
    clearTimeout(cutOff)
    logEvent(log, 'control_stopped')
    onEnd(0)
  }

  reloadCatalog(): void {
    void this.service?.reloadCatalog()
  }

  /** A start that cannot succeed says why, in full, and ends with status 1. */
  private fail(error: unknown): void {
    const problems =
      error instanceof FileError ? error.problems : [error instanceof Error ? error.message : String(error)]
    const { log, print, onEnd } = this.parts
    logEvent(log, 'startup_failed', { problems, ...(error instanceof FileError ? {} : { err: error }) })
    print(`${problems.join('\n')}\n`)
    onEnd(1)
  }
}
