import { pino } from 'pino'
import { ControlProgram } from './service/controlProgram.ts'

const program = new ControlProgram({
  environment: process.env,
  log: pino({ name: 'control', level: 'info' }),
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
