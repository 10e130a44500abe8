import '../contract/std/mendedJson.ts'
import { newLog } from '../contract/std/newLog.ts'
import { ProxyProgram } from './proxyProgram.ts'
import { forkWorker } from './supervisor/forkWorker.ts'

const program = new ProxyProgram({
  environment: process.env,
  log: newLog({ base: { process: 'proxy-main' } }),
  startWorker: forkWorker,
  onEnd: (status) => process.exit(status),
})
process.on('SIGTERM', () => void program.leave())
process.on('SIGINT', () => void program.stop())
if (program.config.accessLog !== '') process.on('SIGHUP', () => program.reopenLogs())
process.on('disconnect', () => void program.stop())

const ready = await program.start()
if (ready !== undefined) process.send?.({ ready })
