// The main process of the proxy, run for one stack after the other. Its workers are warm processes of its own.
import { pino } from 'pino'
import { ProxyProgram } from '../../../proxy/proxyProgram.ts'
import { leaveJournals } from './leaveJournals.ts'
import { serveRuns } from './warmHost.ts'
import { endIdleWorkers, warmWorkers } from './warmWorkers.ts'

serveRuns((logFile, onEnd) => {
  const program = new ProxyProgram({
    environment: process.env,
    log: pino({ base: { process: 'proxy-main' } }),
    startWorker: warmWorkers(logFile),
    onEnd,
  })
  return {
    start: async () => {
      // A test takes every child of this process for a worker.
      await endIdleWorkers(program.config.workers)
      return program.start()
    },
    stop: (reason) => void (reason === 'SIGTERM' ? program.leave() : program.stop()),
    reload: () => program.reopenLogs(),
  }
}, leaveJournals)
