// The program of control in a process that runs it for one stack after the other: its modules are loaded once.
import { destination, pino } from 'pino'
import { ControlProgram } from '../../../control/service/controlProgram.ts'
import { PRODUCTS } from '../../../control/service/products.ts'
import { serveRuns } from './warmHost.ts'
import { WITHOUT_VARIABLE } from './withoutVariable.ts'
import '../lockWatch.ts'

serveRuns((logFile, onEnd) => {
  const log = pino({ name: 'control', level: 'info' }, destination({ dest: logFile, append: true, sync: true }))
  const print = (text: string): void => void process.stderr.write(text)
  const products = PRODUCTS.filter(({ name }) => name !== process.env[WITHOUT_VARIABLE])
  const program = new ControlProgram({ products, environment: process.env, log, print, onEnd })
  return {
    start: async () => {
      const metricsPort = await program.start()
      return metricsPort === undefined ? undefined : { metricsPort }
    },
    stop: (reason) => void program.stop(reason),
    reload: () => program.reloadCatalog(),
  }
})
