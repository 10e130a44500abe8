import { newLog } from '../../contract/std/newLog.ts'
import type { Product } from '../api/product.ts'
import { ControlProgram } from './controlProgram.ts'

/**
 * Runs control as this process, until a signal or the end of its parent stops it.
 * @param products those that are served and run
 */
export async function runControl(products: readonly Product[]): Promise<void> {
  const program = new ControlProgram({
    products,
    environment: process.env,
    log: newLog({ name: 'control', level: 'info' }),
    print: (text) => void process.stderr.write(text),
    onEnd: (status) => process.exit(status),
  })
  process.on('SIGTERM', () => void program.stop('SIGTERM'))
  process.on('SIGINT', () => void program.stop('SIGINT'))
  // The parent is gone: nobody would stop this process any more.
  process.on('disconnect', () => void program.stop('the parent process ended'))
  process.on('SIGHUP', () => program.reloadCatalog())
  const metricsPort = await program.start()
  if (metricsPort !== undefined) process.send?.({ ready: { metricsPort } })
}
